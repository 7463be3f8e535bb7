import Glibc

/// A kernel call that failed: which, on what, and why.
///
/// Prints as one line: `cannot open /x/y: Permission denied (EACCES)`.
public struct IOError: Error, Hashable, Sendable, CustomStringConvertible {
    /// What was being attempted; its raw value reads well after "cannot".
    public enum Operation: String, Hashable, Sendable {
        case open, read, write, sync, truncate, close, rename, remove, list, lock, bind, listen
        case accept, connect, poll
        case inspect = "look at"
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

    /// What was being attempted.
    public var operation: Operation
    /// The file, directory or socket; a word in angle brackets where there is no path.
    public var path: String
    /// The kernel's error number, such as `EACCES`.
    public var errno: Int32
    /// What else is known, such as who holds a lock; empty when nothing is.
    public var detail: String

    /// Makes an error from its parts.
    public init(_ operation: Operation, _ path: String, errno: Int32, detail: String = "") {
        self.operation = operation
        self.path = path
        self.errno = errno
        self.detail = detail
    }

    /// Whether the disk, the quota or the size limit is what ran out.
    public var isOutOfSpace: Bool {
        errno == ENOSPC || errno == EDQUOT || errno == EFBIG
    }

    /// Whether a line or message was over its limit.
    public var isTooLong: Bool { errno == EMSGSIZE }

    /// Whether a path, or a name in it, was over its limit.
    public var isPathTooLong: Bool { errno == ENAMETOOLONG }

    /// Whether this user may not do it.
    public var isDenied: Bool { errno == EACCES || errno == EPERM }

    /// Whether the file or directory was not there.
    public var isNotFound: Bool { errno == ENOENT }

    /// Whether somebody else holds the lock that was asked for.
    public var isLocked: Bool { operation == .lock && errno == EWOULDBLOCK }

    /// Whether there is something where a new file was to be.
    public var alreadyExists: Bool { errno == EEXIST }

    /// Whether it was a symbolic link where none may be.
    public var isLink: Bool { errno == ELOOP }

    /// Whether it was a directory or a device where a file has to be.
    public var isNotRegular: Bool { errno == EISDIR || (operation == .lock && errno == EINVAL) }

    /// Whether there are no locks where the file is, as on some file systems of a network; nobody holds it then.
    public var lacksLocks: Bool {
        operation == .lock && [ENOLCK, EOPNOTSUPP, ENOSYS].contains(errno)
    }

    /// The error as one sentence without a full stop.
    public var description: String {
        let reason = detail.isEmpty ? Self.message(errno) : detail
        return "cannot \(operation.rawValue) \(path): \(reason) (\(Self.name(errno)))"
    }

    /// The kernel's text for an error number, such as "Permission denied".
    static func message(_ number: Int32) -> String {
        guard let text = strerror(number) else { return "error \(number)" }
        return String(cString: text)
    }

    /// The symbol of an error number, such as "EACCES".
    package static func name(_ number: Int32) -> String {
        guard let text = Linux.strerrorname?(number) else { return "errno \(number)" }
        return String(cString: text)
    }
}

/// Runs a call again while a signal interrupts it; the result or the error number.
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

/// Runs a call that returns a negative number on failure, with `IOError` thrown for it.
@discardableResult
func check(
    _ operation: IOError.Operation, _ path: @autoclosure () -> String, _ call: () -> Int32
) throws(IOError) -> Int32 {
    switch retrying({ Int(call()) }) {
    case .success(let value): return Int32(truncatingIfNeeded: value)
    case .failure(let error): throw IOError(operation, path(), errno: error.number)
    }
}

/// Opens a file for the owner only, and throws `ELOOP` for a symbolic link, which could lead to any file.
func openUnlinked(_ path: String, _ flags: Int32) throws(IOError) -> Int32 {
    do throws(IOError) {
        return try check(.open, path) { Glibc.open(path, flags | O_NOFOLLOW, 0o600) }
    } catch {
        guard error.errno == ELOOP else { throw error }
        throw IOError(
            .open, path, errno: ELOOP, detail: "it is a symbolic link; remove the link")
    }
}
