import CLMDB
import Glibc
import TandemIO

/// Why the store could not do something: what was tried, on which path, what LMDB said, what to do.
public struct StoreError: Error, Hashable, Sendable, CustomStringConvertible {
    /// What kind of failure it is.
    public enum Code: Hashable, Sendable {
        /// The store uses all that its quota allows, or the memory map is full.
        case overQuota
        /// The disk, a quota or the file size limit ran out; the last checkpoint is as it was.
        case noSpace
        /// The directory belongs to another log, a newer format, or something else entirely.
        case notOurs
        /// The store contradicts itself or the journal.
        case damaged
        /// The request asks for more than a request may; the store is none the worse for it.
        case tooMuch
        /// It asks for more than it may for one object; the store is none the worse for it.
        case tooMuchOfObject
        /// The read was ended by who wanted it, or by what it may use.
        case interrupted
        /// As many snapshots are read as may be; the next one has to wait.
        case noReader
        /// Any other failure of LMDB or the file system.
        case failed
    }

    /// What kind of failure it is.
    public var code: Code
    /// What happened, where, and what to do.
    public var message: String
    /// True for the system's `EIO`.
    private(set) var isInputOutput = false
    /// Whether the process may not have more memory or files for now.
    public private(set) var isOutOfResources = false

    /// An error of a kind with its message.
    public init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    init(_ operation: String, _ path: String, _ status: Int32) {
        let reason = String(cString: mdb_strerror(status))
        isInputOutput = status == EIO
        let symbol = status > 0 ? IOError.name(status) : "\(status)"
        let what = "cannot \(operation) the store at \(path): \(reason) (\(symbol))"
        switch status {
        case MDB_MAP_FULL:
            code = .overQuota
            message = what + "; raise the limit on address space (ulimit -v) and restart the daemon"
        case ENOSPC, EDQUOT, EFBIG:
            (code, message) = (.noSpace, what + "; nothing is lost, free room on the disk")
        case MDB_MAP_RESIZED:
            code = .failed
            message = what + "; another process opened it with a larger map: run this again"
        case MDB_READERS_FULL:
            code = .noReader
            message = what + "; end a process that reads the store, or wait"
        case ENOMEM, EAGAIN, EMFILE, ENFILE:
            (code, isOutOfResources) = (.failed, true)
            message =
                what + "; nothing is lost: allow the process more (`ulimit -a`), then start again"
        case MDB_INVALID, MDB_CORRUPTED, MDB_PAGE_NOTFOUND, MDB_PANIC:
            code = .failed
            message =
                what + "; stop the daemon and run `tandem rebuild`, which makes the store from its "
                + "journal"
        default:
            code = .failed
            message =
                what
                + "; check the disk, then start again; if that does not help, `tandem rebuild` "
                + "makes the store from its journal"
        }
    }

    /// True when the store could not take more for now, and is none the worse for it.
    public var isShortage: Bool { code == .noSpace || code == .overQuota }

    /// True when a request asks for more than it may.
    public var isTooMuch: Bool { code == .tooMuch || code == .tooMuchOfObject }

    /// The message.
    public var description: String { message }
}
