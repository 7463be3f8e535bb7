import Glibc

/// A failed kernel call: the operation, the path and the error number.
///
/// The description is one line: `cannot open /x/y: Permission denied (EACCES)`.
public struct IOError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The attempted operation; its raw value is worded to follow "cannot".
    public enum Operation: String, Hashable, Sendable {
        case open, read, write, sync, truncate, close, rename, remove, list, lock, bind, poll
        case listen = "listen on"
        case accept = "accept a connection on"
        case connect = "connect to"
        case inspect = "inspect"
        case createDirectory = "create directory"
        case syncDirectory = "sync directory"
        case changeMode = "change the mode of"
        case changeGroup = "change the group of"
        case createSocket = "create socket"
        case configureSocket = "configure socket"
        case startThread = "start thread"
        case startProcess = "start"
        case watchSignals = "watch signals"
    }

    /// The attempted operation.
    public var operation: Operation
    /// The path of the file, directory or socket, or a word in angle brackets if there is no path.
    public var path: String
    /// The kernel's error number, such as `EACCES`.
    public var errno: Int32
    /// Further details, such as the holder of a lock; empty if there are none.
    public var detail: String

    /// Creates an error from its components.
    public init(_ operation: Operation, _ path: String, errno: Int32, detail: String = "") {
        self.operation = operation
        self.path = path
        self.errno = errno
        self.detail = detail
    }

    /// Whether the disk is full, or a quota or file-size limit was reached.
    public var isOutOfSpace: Bool {
        errno == ENOSPC || errno == EDQUOT || errno == EFBIG
    }

    /// Whether a line or message exceeded its length limit.
    public var isTooLong: Bool { errno == EMSGSIZE }

    /// Whether a path, or one of its components, exceeded its length limit.
    public var isPathTooLong: Bool { errno == ENAMETOOLONG }

    /// Whether permission was denied.
    public var isDenied: Bool { errno == EACCES || errno == EPERM }

    /// Whether the file or directory does not exist.
    public var isNotFound: Bool { errno == ENOENT }

    /// Whether another holder has the requested lock.
    public var isLocked: Bool { operation == .lock && errno == EWOULDBLOCK }

    /// Whether a file exists at the path of a file to be created.
    public var alreadyExists: Bool { errno == EEXIST }

    /// Whether the path is a symbolic link where none is allowed.
    public var isLink: Bool { errno == ELOOP }

    /// Whether the path is a directory or a device where a regular file is required.
    public var isNotRegular: Bool { errno == EISDIR || (operation == .lock && errno == EINVAL) }

    /// Whether the file system does not support locks, like some network file systems.
    public var lacksLocks: Bool {
        operation == .lock && [ENOLCK, EOPNOTSUPP, ENOSYS].contains(errno)
    }

    /// The error as one sentence without a full stop.
    public var description: String {
        let reason = detail.isEmpty ? Self.message(errno) : detail
        return "cannot \(operation.rawValue) \(path): \(reason) (\(Self.name(errno)))"
    }

    /// Returns the kernel's text for an error number, such as "Permission denied".
    static func message(_ number: Int32) -> String {
        guard let text = strerror(number) else { return "error \(number)" }
        return String(cString: text)
    }

    /// Returns the symbol of an error number, such as "EACCES".
    package static func name(_ number: Int32) -> String {
        guard let text = Linux.strerrorname?(number) else { return "errno \(number)" }
        return String(cString: text)
    }
}

/// Repeats a call while a signal interrupts it; returns its result or the error number.
func retrying(_ call: () -> Int) -> Result<Int, Errno> {
    while true {
        let result = call()
        if result >= 0 { return .success(result) }
        let number = errno
        if number != EINTR { return .failure(Errno(number: number)) }
    }
}

/// The error number of one failed call.
struct Errno: Error {
    var number: Int32
}

/// Runs a call that returns a negative number on failure; throws an `IOError` in that case.
@discardableResult
func check(
    _ operation: IOError.Operation, _ path: @autoclosure () -> String, _ call: () -> Int32
) throws(IOError) -> Int32 {
    switch retrying({ Int(call()) }) {
    case .success(let value): return Int32(truncatingIfNeeded: value)
    case .failure(let error): throw IOError(operation, path(), errno: error.number)
    }
}

/// Opens a file, or creates it with mode 0600; throws `ELOOP` for a symbolic link, which could
/// refer to any file.
func openUnlinked(_ path: String, _ flags: Int32) throws(IOError) -> Int32 {
    do throws(IOError) {
        return try check(.open, path) { Glibc.open(path, flags | O_NOFOLLOW, 0o600) }
    } catch {
        guard error.errno == ELOOP else { throw error }
        throw IOError(
            .open, path, errno: ELOOP, detail: "a symbolic link; remove the link")
    }
}
