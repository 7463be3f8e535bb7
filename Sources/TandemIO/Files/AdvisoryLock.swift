import Glibc

/// An exclusive lock on a file that has content of its own.
///
/// The lock is held until this value is released or the process ends.
///
/// Unlike ``LockFile`` it writes nothing into the file. The holder may remove the file; a process
/// that then locks the same path creates a new file and locks that. The lock is advisory: it
/// excludes only processes that request it too.
///
///     let lock = try AdvisoryLock("rows.csv.rejects")
public final class AdvisoryLock: FileLock, Sendable {
    /// The file's path.
    public let path: String
    private let descriptor: Int32

    /// Acquires the lock, and creates an empty file for the owner only (mode 0600) if it is
    /// missing.
    ///
    /// Throws an error with `isLocked` if another holder has the lock, and one with `lacksLocks` if
    /// the file system has no locks. Other errors mean that the path is not a regular file or can't
    /// be written. A file created by this call is removed again if the lock can't be acquired.
    public init(_ path: String) throws(IOError) {
        while true {
            let (descriptor, isNew) = try Self.open(path)
            do throws(IOError) {
                let own = try Self.identity(path) { fstat(descriptor, &$0) }
                try check(.lock, path) { flock(descriptor, LOCK_EX | LOCK_NB) }
                // The previous holder may have removed the file before the lock was acquired here.
                if try Self.identity(path, { stat(path, &$0) }) == own {
                    self.path = path
                    self.descriptor = descriptor
                    return
                }
            } catch {
                // If another process holds the lock, the file belongs to that process and must
                // stay.
                if isNew, !error.isLocked { _ = unlink(path) }
                _ = Glibc.close(descriptor)
                guard error.isNotFound else { throw error }
                continue
            }
            _ = Glibc.close(descriptor)
        }
    }

    deinit {
        // A child process being started shares the descriptor until it executes its program.
        _ = flock(descriptor, LOCK_UN)
        _ = Glibc.close(descriptor)
    }

    /// Opens the file, and returns whether this call created it.
    private static func open(
        _ path: String
    ) throws(IOError) -> (descriptor: Int32, isNew: Bool) {
        let flags = O_RDWR | O_CREAT | O_CLOEXEC
        do throws(IOError) {
            return (try openUnlinked(path, flags | O_EXCL), true)
        } catch {
            guard error.errno == EEXIST else { throw error }
        }
        return (try openUnlinked(path, flags), false)
    }

    /// The device and inode number that identify a file.
    private struct Identity: Equatable {
        var device: dev_t
        var number: ino_t
    }

    private static func identity(
        _ path: String, _ look: (inout stat) -> Int32
    ) throws(IOError) -> Identity {
        var found = stat()
        try check(.inspect, path) { look(&found) }
        guard found.st_mode & S_IFMT == S_IFREG else {
            throw IOError(.lock, path, errno: EINVAL, detail: "not a regular file")
        }
        return Identity(device: found.st_dev, number: found.st_ino)
    }
}
