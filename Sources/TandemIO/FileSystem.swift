/// How a file is opened.
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

/// One open file.
///
/// Bound to the thread that uses it; closed when released.
public protocol File: AnyObject {
    /// The path it was opened by, for messages.
    var path: String { get }

    /// Reads up to the buffer's size from `offset`; fewer bytes only at the end of the file.
    func read(
        into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64
    ) throws(IOError) -> Int

    /// Writes all bytes at `offset`, over several calls to the kernel if need be.
    func write(_ bytes: UnsafeRawBufferPointer, at offset: UInt64) throws(IOError)

    /// Returns once everything written is on the disk (`fdatasync`). Never call it again after it
    /// failed: a second call may succeed without the data.
    func sync() throws(IOError)

    /// Takes room for `bytes` from the start of the file, or throws `ENOSPC` at once.
    ///
    /// Where the file system can't reserve, it does nothing.
    func reserve(_ bytes: UInt64) throws(IOError)

    /// Cuts or extends the file to `size` bytes, durable on return; an extension reads as zeros.
    func truncate(to size: UInt64) throws(IOError)

    /// The file's size in bytes, asked from the kernel.
    func size() throws(IOError) -> UInt64

    /// Tells that the file has another name now, for messages.
    func renamed(to path: String)

    /// Closes the file; later calls fail with `EBADF`. Calling it twice is harmless.
    func close()
}

/// A lock held for as long as this value lives.
public protocol FileLock: AnyObject {
    /// The lock file's path.
    var path: String { get }
}

/// Files and directories, as much of them as a log and a store need.
///
/// Bound to one thread.
///
/// ``RealFileSystem`` asks the kernel; ``SimulatedFileSystem`` keeps all in memory and can crash.
public protocol FileSystem: AnyObject {
    /// Opens a file; new ones are for the owner only (mode 0600).
    func open(_ path: String, _ mode: OpenMode) throws(IOError) -> any File

    /// Gives a file another name in place of whatever had it. Durable after `syncDirectory`.
    func rename(_ old: String, to new: String) throws(IOError)

    /// Removes a file's name. Durable after `syncDirectory`.
    func remove(_ path: String) throws(IOError)

    /// Creates a directory and its missing parents; one that exists is left as it is.
    func createDirectory(_ path: String, mode: UInt32) throws(IOError)

    /// Returns once the names in a directory are on the disk.
    func syncDirectory(_ path: String) throws(IOError)

    /// The names in a directory, sorted, without `.` and `..`.
    func list(_ directory: String) throws(IOError) -> [String]

    /// Whether the path names anything.
    func exists(_ path: String) -> Bool

    /// Takes the lock at `path`, or throws an error for which `isLocked` holds.
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

    /// Reads up to `count` bytes from `offset`; fewer only at the end of the file.
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
    /// The whole content of a file, refused with `EFBIG` if longer than `maximumBytes`.
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

/// The directory part of a path: "/a" for "/a/b", "." for "b", "/" for "/b".
func directoryName(of path: String) -> String {
    guard let slash = path.lastIndex(of: "/") else { return "." }
    return slash == path.startIndex ? "/" : String(path[..<slash])
}
