import Glibc

/// The kind of a path, its owner, and its write permissions.
public struct DirectoryAccess: Hashable, Sendable {
    /// What a path names.
    public enum Kind: Hashable, Sendable {
        case directory, file, link, other
    }

    /// What the path names.
    public let kind: Kind
    /// The user that owns it.
    public let owner: UInt32
    /// Its permissions, such as 0o700.
    public let mode: UInt32

    /// The access to what is at a path; a symbolic link is followed unless told otherwise.
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

    /// Whether neither another user than `user` and root owns it, nor group or others may write to it.
    public func isPrivate(to user: UInt32) -> Bool {
        (owner == user || owner == 0) && mode & 0o022 == 0
    }
}
