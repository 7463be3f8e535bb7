import Glibc

extension RealFileSystem {
    /// Replaces a file's content atomically: readers see the old content or the new, never a
    /// mixture.
    ///
    /// The bytes are written to a temporary file in the same directory, which gets the mode and is
    /// renamed into place. With `isFlushed`, the file has the old or the new content after a power
    /// cut; without it, the file may be empty. A symbolic link stays, and its target is replaced. A
    /// file that is not regular, such as a pipe or a device, is written to directly. Throws
    /// ``IOError`` with the given path.
    public func replace(
        _ path: String, with bytes: [UInt8], mode: UInt32 = 0o644, isFlushed: Bool = false
    ) throws(IOError) {
        if isSpecialFile(path) { return try Self.write(bytes, to: path) }
        let target = try Self.target(of: path)
        let temporary = Self.temporary(target)
        try? remove(temporary)
        do throws(IOError) {
            let file = try open(temporary, .createNew)
            defer { file.close() }
            try file.write(bytes, at: 0)
            try check(.changeMode, temporary) { chmod(temporary, mode) }
            if isFlushed { try file.sync() }
            try rename(temporary, to: target)
        } catch {
            try? remove(temporary)
            throw IOError(error.operation, path, errno: error.errno, detail: error.detail)
        }
    }

    /// Throws the errors of ``replace(_:with:mode:isFlushed:)`` that can be determined in advance
    /// from the path.
    public func checkReplaceable(_ path: String) throws(IOError) {
        if isSpecialFile(path) { return }
        let temporary = Self.temporary(try Self.target(of: path))
        do throws(IOError) {
            try? remove(temporary)
            try open(temporary, .createNew).close()
            try remove(temporary)
        } catch {
            throw IOError(error.operation, path, errno: error.errno, detail: error.detail)
        }
    }

    /// Whether a path refers to something that is neither a regular file nor a directory.
    public func isSpecialFile(_ path: String) -> Bool {
        var status = stat()
        guard stat(path, &status) == 0 else { return false }
        return status.st_mode & S_IFMT != S_IFREG && status.st_mode & S_IFMT != S_IFDIR
    }

    private static func temporary(_ path: String) -> String { "\(path).\(getpid()).tmp" }

    /// Returns the path to replace: the target of a symbolic link, or the path itself.
    private static func target(of path: String) throws(IOError) -> String {
        var status = stat()
        if stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFDIR {
            throw IOError(.open, path, errno: EISDIR)
        }
        guard lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFLNK else { return path }
        do throws(IOError) {
            return try RealFileSystem().realPath(path)
        } catch {
            throw IOError(
                .open, path, errno: error.errno,
                detail: "a symbolic link to a file that does not exist; create that file")
        }
    }

    private static func write(_ bytes: [UInt8], to path: String) throws(IOError) {
        let descriptor = try check(.open, path) { Glibc.open(path, O_WRONLY | O_CLOEXEC) }
        defer { _ = Glibc.close(descriptor) }
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = try check(.write, path) {
                rest.withUnsafeBytes {
                    Int32(clamping: Glibc.write(descriptor, $0.baseAddress, $0.count))
                }
            }
            rest = rest.dropFirst(Int(count))
        }
    }
}
