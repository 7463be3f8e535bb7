import Glibc

/// Operations on whole directories, used to create or restore a store.
extension RealFileSystem {
    /// Whether the path is an empty directory.
    public func isEmptyDirectory(_ path: String) -> Bool {
        (try? list(path))?.isEmpty ?? false
    }

    /// Returns the absolute path of an existing file or directory, with symbolic links resolved.
    public func realPath(_ path: String) throws(IOError) -> String {
        guard let resolved = realpath(path, nil) else {
            throw IOError(.inspect, path, errno: errno)
        }
        defer { free(resolved) }
        return String(cString: resolved)
    }

    /// Removes a file, or a directory with its contents; does nothing if the path does not exist.
    public func removeTree(_ path: String) throws(IOError) {
        var status = stat()
        guard lstat(path, &status) == 0 else { return }
        guard status.st_mode & S_IFMT == S_IFDIR else { return try remove(path) }
        for name in try list(path) { try removeTree(path + "/" + name) }
        try check(.remove, path) { rmdir(path) }
    }
}
