import Glibc

/// Whole directories: looked into and removed by who makes or brings back a store.
extension RealFileSystem {
    /// Whether the path is a directory without names in it.
    public func isEmptyDirectory(_ path: String) -> Bool {
        (try? list(path))?.isEmpty ?? false
    }

    /// The absolute path of a file or directory that exists, without symbolic links.
    public func realPath(_ path: String) throws(IOError) -> String {
        guard let resolved = realpath(path, nil) else {
            throw IOError(.inspect, path, errno: errno)
        }
        defer { free(resolved) }
        return String(cString: resolved)
    }

    /// Removes a file, or a directory with everything in it; nothing there is no failure.
    public func removeTree(_ path: String) throws(IOError) {
        var status = stat()
        guard lstat(path, &status) == 0 else { return }
        guard status.st_mode & S_IFMT == S_IFDIR else { return try remove(path) }
        for name in try list(path) { try removeTree(path + "/" + name) }
        try check(.remove, path) { rmdir(path) }
    }
}
