import Glibc

/// The owner and the write permissions of a directory.
public struct DirectoryAccess: Hashable, Sendable {
    /// The user that owns it.
    public let owner: UInt32
    /// Its permissions, such as 0o700.
    public let mode: UInt32

    /// The access to the directory at a path; a symbolic link is followed.
    public init(of path: String) throws(IOError) {
        var found = stat()
        try check(.inspect, path) { stat(path, &found) }
        owner = found.st_uid
        mode = found.st_mode & 0o7777
    }

    /// Whether neither another user than `user` and root owns it, nor group or others may write to it.
    public func isPrivate(to user: UInt32) -> Bool {
        (owner == user || owner == 0) && mode & 0o022 == 0
    }
}
