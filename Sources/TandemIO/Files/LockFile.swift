import Glibc

/// An exclusive lock on a file of its own, held until this value is released or the process ends.
///
/// The file contains the holder's process id, so that errors can name the holder. Releasing the
/// lock leaves the file in place: if it were removed, two processes could lock different files of
/// the same name.
public final class LockFile: FileLock, Sendable {
    /// The lock file's path.
    public let path: String
    private let descriptor: Int32

    /// Acquires the lock, and creates the file if it is missing.
    ///
    /// Throws an error with `isLocked` that names the holder if another process has the lock.
    /// Symbolic links and files with a second hard link are refused too, because a user with write
    /// access to the directory could point them at another file. A file whose content is not a
    /// process id is also refused, because it would be overwritten.
    public init(_ path: String) throws(IOError) {
        let descriptor = try openUnlinked(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NONBLOCK)
        do throws(IOError) {
            try Self.checkOwnFile(descriptor, path)
            try check(.lock, path) { flock(descriptor, LOCK_EX | LOCK_NB) }
        } catch {
            defer { _ = Glibc.close(descriptor) }
            guard error.errno == EWOULDBLOCK else { throw error }
            let holder = Self.holder(descriptor).map { "process \($0)" } ?? "another process"
            throw IOError(.lock, path, errno: EWOULDBLOCK, detail: "the lock is held by \(holder)")
        }
        self.path = path
        self.descriptor = descriptor
        writeHolder()
    }

    deinit {
        // A child process being started shares the descriptor until it executes its program.
        _ = flock(descriptor, LOCK_UN)
        _ = Glibc.close(descriptor)
    }

    private static func checkOwnFile(
        _ descriptor: Int32, _ path: String
    ) throws(IOError) {
        var found = stat()
        try check(.inspect, path) { fstat(descriptor, &found) }
        guard found.st_mode & S_IFMT == S_IFREG, found.st_nlink <= 1 else {
            throw IOError(
                .lock, path, errno: EINVAL,
                detail: "not a regular file, or a file with a second hard link"
            )
        }
        guard found.st_size <= holderBytes, hasOnlyHolder(descriptor) else {
            throw IOError(
                .lock, path, errno: EINVAL,
                detail:
                    "the content is not a process id, so this is not a lock file; move the file away"
            )
        }
    }

    /// An upper bound on the length of a process id with its newline.
    private static let holderBytes = 16

    /// Whether the content could be a process id or the remains of one: a power cut can leave a
    /// part of it, or zeros.
    private static func hasOnlyHolder(_ descriptor: Int32) -> Bool {
        var text = [UInt8](repeating: 0, count: holderBytes)
        let count = text.withUnsafeMutableBytes { pread(descriptor, $0.baseAddress, $0.count, 0) }
        return text.prefix(max(0, count)).allSatisfy { $0 == 0 || $0 == 10 || (48...57) ~= $0 }
    }

    private func writeHolder() {
        let text = Array("\(getpid())\n".utf8)
        // The process id is only used in messages, so a failure to write it is ignored.
        _ = ftruncate(descriptor, 0)
        _ = text.withUnsafeBytes { pwrite(descriptor, $0.baseAddress, $0.count, 0) }
    }

    private static func holder(_ descriptor: Int32) -> Int32? {
        var text = [UInt8](repeating: 0, count: holderBytes)
        let count = text.withUnsafeMutableBytes { pread(descriptor, $0.baseAddress, $0.count, 0) }
        guard count > 0 else { return nil }
        return Int32(String(decoding: text.prefix(count).prefix { $0 != 10 }, as: UTF8.self))
    }
}
