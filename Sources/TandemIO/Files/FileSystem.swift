/// The mode in which a file is opened.
public enum OpenMode: Hashable, Sendable {
    /// An existing file, for reading only.
    case read
    /// An existing file, for reading and writing.
    case readWrite
    /// A file that must not exist yet, for reading and writing.
    case createNew
    /// A file for reading and writing, created if missing.
    case createIfMissing
}

/// An open file.
///
/// Bound to the thread that uses it; closed when released.
public protocol File: AnyObject {
    /// The path of the file, for messages.
    var path: String { get }

    /// Reads up to the buffer's size from `offset`; returns fewer bytes only at the end of the
    /// file.
    func read(
        into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64
    ) throws(IOError) -> Int

    /// Writes all bytes at `offset`, with several calls to the kernel if necessary.
    func write(_ bytes: UnsafeRawBufferPointer, at offset: UInt64) throws(IOError)

    /// Makes everything written durable (`fdatasync`).
    ///
    /// Never call it again after a failure: a second call may succeed although the data is lost.
    func sync() throws(IOError)

    /// Reserves `bytes` from the start of the file, or throws `ENOSPC` at once.
    ///
    /// Does nothing if the file system can't reserve space.
    func reserve(_ bytes: UInt64) throws(IOError)

    /// Truncates or extends the file to `size` bytes, durably on return; an extension reads as
    /// zeros.
    func truncate(to size: UInt64) throws(IOError)

    /// Returns the file's current size in bytes, as the kernel reports it.
    func size() throws(IOError) -> UInt64

    /// Updates ``path`` after a rename, for messages.
    func renamed(to path: String)

    /// Closes the file; later calls fail with `EBADF`, and closing again does nothing.
    func close()
}

/// A lock that is held until this value is released.
public protocol FileLock: AnyObject {
    /// The lock file's path.
    var path: String { get }
}

/// The operations on files and directories that a journal and a store need.
///
/// Bound to one thread.
///
/// ``RealFileSystem`` calls the kernel. ``SimulatedFileSystem`` keeps everything in memory and can
/// simulate a crash.
public protocol FileSystem: AnyObject {
    /// Opens a file; a new file is accessible to the owner only (mode 0600).
    func open(_ path: String, _ mode: OpenMode) throws(IOError) -> any File

    /// Renames a file, replacing any file at the new name; durable after `syncDirectory`.
    func rename(_ old: String, to new: String) throws(IOError)

    /// Removes a file's name; durable after `syncDirectory`.
    func remove(_ path: String) throws(IOError)

    /// Creates a directory and its missing parents; an existing directory stays unchanged.
    func createDirectory(_ path: String, mode: UInt32) throws(IOError)

    /// Makes the names in a directory durable (`fsync`).
    func syncDirectory(_ path: String) throws(IOError)

    /// Returns the names in a directory, sorted, without `.` and `..`.
    func list(_ directory: String) throws(IOError) -> [String]

    /// Whether a file or directory exists at the path.
    func exists(_ path: String) -> Bool

    /// Acquires the lock at `path`, or throws an error with `isLocked` if another holder has it.
    func lock(_ path: String) throws(IOError) -> any FileLock
}

extension File {
    /// Writes all bytes of an array at `offset`.
    public func write(_ bytes: [UInt8], at offset: UInt64) throws(IOError) {
        var failure: IOError?
        bytes.withUnsafeBytes { buffer in
            do throws(IOError) {
                try write(buffer, at: offset)
            } catch {
                failure = error
            }
        }
        if let failure { throw failure }
    }

    /// Reads up to `count` bytes from `offset`; returns fewer only at the end of the file.
    public func read(count: Int, at offset: UInt64) throws(IOError) -> [UInt8] {
        var failure: IOError?
        let bytes = [UInt8](unsafeUninitializedCapacity: count) { buffer, initialized in
            do throws(IOError) {
                initialized = try read(into: UnsafeMutableRawBufferPointer(buffer), at: offset)
            } catch {
                failure = error
            }
        }
        if let failure { throw failure }
        return bytes
    }
}

extension FileSystem {
    /// Returns the whole content of a file; throws `EFBIG` if it is longer than `maximumBytes`.
    public func contents(of path: String, maximumBytes: UInt64) throws(IOError) -> [UInt8] {
        let file = try open(path, .read)
        defer { file.close() }
        let size = try file.size()
        guard size <= maximumBytes else {
            throw IOError(
                .read, path, errno: 27,
                detail: "\(size) bytes, more than the \(maximumBytes) allowed")
        }
        return try file.read(count: Int(size), at: 0)
    }
}

/// Returns the directory part of a path: "/a" for "/a/b", "." for "b", "/" for "/b".
func directoryName(of path: String) -> String {
    guard let slash = path.lastIndex(of: "/") else { return "." }
    return slash == path.startIndex ? "/" : String(path[..<slash])
}
