import Glibc

/// The kind, owner and permissions of the file at a path.
public struct DirectoryAccess: Hashable, Sendable {
    /// The kind of a file.
    public enum Kind: Hashable, Sendable {
        case directory, file, link, other
    }

    /// The kind of the file.
    public let kind: Kind
    /// The user id of the owner.
    public let owner: UInt32
    /// The permissions, such as 0o700.
    public let mode: UInt32

    /// Reads the kind, owner and permissions of the file at a path; a symbolic link is followed
    /// unless `followsLinks` is false.
    public init(of path: String, followsLinks: Bool = true) throws(IOError) {
        var found = stat()
        try check(.inspect, path) { followsLinks ? stat(path, &found) : lstat(path, &found) }
        owner = found.st_uid
        mode = found.st_mode & 0o7777
        kind =
            switch found.st_mode & S_IFMT {
            case S_IFDIR: .directory
            case S_IFREG: .file
            case S_IFLNK: .link
            default: .other
            }
    }

    /// Whether only `user` and root can own and write the file.
    ///
    /// False if another user owns it, or if group or others may write to it.
    public func isPrivate(to user: UInt32) -> Bool {
        (owner == user || owner == 0) && mode & 0o022 == 0
    }
}
