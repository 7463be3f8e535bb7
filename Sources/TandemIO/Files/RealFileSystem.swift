import Glibc

/// The kernel's file system.
///
/// Stateless: threads may share an instance or have their own.
public final class RealFileSystem: FileSystem, Sendable {
    /// Creates a file system that resolves relative paths from the working directory.
    public init() {}

    /// Opens a file; a new file is accessible to the owner only (mode 0600).
    public func open(_ path: String, _ mode: OpenMode) throws(IOError) -> any File {
        let flags: Int32 =
            switch mode {
            case .read: O_RDONLY
            case .readWrite: O_RDWR
            case .createNew: O_RDWR | O_CREAT | O_EXCL
            case .createIfMissing: O_RDWR | O_CREAT
            }
        let descriptor = try check(.open, path) { Glibc.open(path, flags | O_CLOEXEC, 0o600) }
        return RealFile(descriptor: descriptor, path: path)
    }

    /// Renames a file, replacing any file at the new name.
    public func rename(_ old: String, to new: String) throws(IOError) {
        try check(.rename, old) { Glibc.rename(old, new) }
    }

    /// Removes a file's name.
    public func remove(_ path: String) throws(IOError) {
        try check(.remove, path) { unlink(path) }
    }

    /// Creates a directory and its missing parents; an existing directory stays unchanged.
    ///
    /// The directory's name is durable on return, unless the directory already existed and its
    /// parent can't be synced (`EACCES`, `EROFS`).
    public func createDirectory(_ path: String, mode: UInt32) throws(IOError) {
        let parent = directoryName(of: path)
        if isDirectory(path) { return try syncExisting(parent) }
        if parent != path { try createDirectory(parent, mode: mode) }
        if mkdir(path, mode) == 0 {
            try syncDirectory(parent)
            return
        }
        let number = errno
        // Another process may have created the directory in the meantime.
        if number == EEXIST && isDirectory(path) { return try syncExisting(parent) }
        let detail = number == EEXIST ? "a file with this name exists; move it away" : ""
        throw IOError(.createDirectory, path, errno: number, detail: detail)
    }

    /// Syncs the parent of an existing directory: its creator may have died before the name was on
    /// the disk.
    private func syncExisting(_ parent: String) throws(IOError) {
        do {
            try syncDirectory(parent)
        } catch {
            guard error.errno == EACCES || error.errno == EROFS else { throw error }
        }
    }

    /// Makes the names in a directory durable (`fsync`).
    public func syncDirectory(_ path: String) throws(IOError) {
        let descriptor = try check(.open, path) {
            Glibc.open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        }
        defer { _ = Glibc.close(descriptor) }
        try check(.syncDirectory, path) { fsync(descriptor) }
    }

    /// Returns the names in a directory, sorted, without `.` and `..`.
    public func list(_ directory: String) throws(IOError) -> [String] {
        guard let stream = opendir(directory) else {
            throw IOError(.list, directory, errno: errno)
        }
        defer { closedir(stream) }
        var names: [String] = []
        while true {
            Glibc.errno = 0
            guard let entry = readdir(stream) else { break }
            let name = withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
                String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            if name != "." && name != ".." { names.append(name) }
        }
        if Glibc.errno != 0 { throw IOError(.list, directory, errno: Glibc.errno) }
        return names.sorted()
    }

    /// Whether a file or directory exists at the path.
    public func exists(_ path: String) -> Bool {
        access(path, F_OK) == 0
    }

    /// Acquires the lock at `path`, or throws an error with `isLocked` if another holder has it.
    public func lock(_ path: String) throws(IOError) -> any FileLock {
        try LockFile(path)
    }

    /// Whether a directory exists at the path.
    public func isDirectory(_ path: String) -> Bool {
        var status = stat()
        return stat(path, &status) == 0 && (status.st_mode & S_IFMT) == S_IFDIR
    }
}

/// A file descriptor, closed when released.
final class RealFile: File {
    private(set) var path: String
    private var descriptor: Int32

    init(descriptor: Int32, path: String) {
        self.descriptor = descriptor
        self.path = path
    }

    deinit { close() }

    func read(
        into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64
    ) throws(IOError) -> Int {
        guard let base = buffer.baseAddress else { return 0 }
        var done = 0
        while done < buffer.count {
            let position = off_t(truncatingIfNeeded: offset &+ UInt64(done))
            let result = retrying {
                pread(descriptor, base + done, buffer.count - done, position)
            }
            switch result {
            case .success(0): return done
            case .success(let count): done += count
            case .failure(let error): throw IOError(.read, path, errno: error.number)
            }
        }
        return done
    }

    func write(_ bytes: UnsafeRawBufferPointer, at offset: UInt64) throws(IOError) {
        guard let base = bytes.baseAddress else { return }
        var done = 0
        while done < bytes.count {
            let position = off_t(truncatingIfNeeded: offset &+ UInt64(done))
            let result = retrying {
                pwrite(descriptor, base + done, bytes.count - done, position)
            }
            switch result {
            case .success(0): throw IOError(.write, path, errno: ENOSPC)
            case .success(let count): done += count
            case .failure(let error): throw IOError(.write, path, errno: error.number)
            }
        }
    }

    // Not retried, not even after EINTR: a second sync may succeed although the data is lost.
    func sync() throws(IOError) {
        if fdatasync(descriptor) != 0 { throw IOError(.sync, path, errno: errno) }
    }

    func reserve(_ bytes: UInt64) throws(IOError) {
        // `posix_fallocate` returns the error number instead of setting `errno`.
        let number = posix_fallocate(descriptor, 0, off_t(truncatingIfNeeded: bytes))
        if number != 0, number != EINVAL, number != EOPNOTSUPP {
            throw IOError(.write, path, errno: number)
        }
    }

    func truncate(to size: UInt64) throws(IOError) {
        try check(.truncate, path) { ftruncate(descriptor, off_t(truncatingIfNeeded: size)) }
        // `fdatasync` need not write the size to the disk.
        if fsync(descriptor) != 0 { throw IOError(.sync, path, errno: errno) }
    }

    func renamed(to path: String) { self.path = path }

    func size() throws(IOError) -> UInt64 {
        var status = stat()
        try check(.inspect, path) { fstat(descriptor, &status) }
        return UInt64(clamping: status.st_size)
    }

    func close() {
        guard descriptor >= 0 else { return }
        _ = Glibc.close(descriptor)
        descriptor = -1
    }
}
