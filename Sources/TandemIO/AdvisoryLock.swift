import Glibc

/// An exclusive lock on a file that has content of its own, held until this value is released or the process ends.
///
/// Unlike ``LockFile`` nothing is written into the file, and its holder may remove it: whoever waits for the name then gets
/// another file, and its lock. It keeps out those alone who ask for it too.
///
///     let lock = try AdvisoryLock("rows.csv.rejects")
public final class AdvisoryLock: FileLock, Sendable {
    /// The file's path.
    public let path: String
    private let descriptor: Int32

    /// Takes the lock, creating an empty file for the owner only (mode 0600) if missing.
    ///
    /// Throws an error for which `isLocked` holds if it is taken, one for which `lacksLocks` holds where there are none, and another
    /// for what is no file or can't be written. A file that was made for a lock that can't be had is removed again.
    public init(_ path: String) throws(IOError) {
        while true {
            let (descriptor, isNew) = try Self.open(path)
            do throws(IOError) {
                let own = try Self.identity(path) { fstat(descriptor, &$0) }
                try check(.lock, path) { flock(descriptor, LOCK_EX | LOCK_NB) }
                // Its last holder may have removed it before it was locked here.
                if try Self.identity(path, { stat(path, &$0) }) == own {
                    self.path = path
                    self.descriptor = descriptor
                    return
                }
            } catch {
                // Whoever has the lock has the file.
                if isNew, !error.isLocked { _ = unlink(path) }
                _ = Glibc.close(descriptor)
                guard error.isNotFound else { throw error }
                continue
            }
            _ = Glibc.close(descriptor)
        }
    }

    deinit {
        // A child that is just being started has the descriptor too until it runs its program.
        _ = flock(descriptor, LOCK_UN)
        _ = Glibc.close(descriptor)
    }

    /// Opens the file, and says whether it was made just now.
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

    /// What tells a file from all others.
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
            throw IOError(.lock, path, errno: EINVAL, detail: "it is no file")
        }
        return Identity(device: found.st_dev, number: found.st_ino)
    }
}
