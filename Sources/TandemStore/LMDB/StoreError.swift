import CLMDB
import Glibc
import TandemIO

/// An error of the store, with a message.
package struct StoreError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The kinds of failures.
    package enum Code: Hashable, Sendable {
        /// The store's quota or its memory map is full.
        case overQuota
        /// The disk, a disk quota or the file size limit is exhausted; the last checkpoint is
        /// intact.
        case noSpace
        /// The directory belongs to another log, has a newer format, or isn't a store.
        case notOurs
        /// The store contradicts itself or the journal.
        case damaged
        /// A request exceeds the limit of reads per request; the store is unaffected.
        case tooMuch
        /// A request exceeds the limit of reads per object; the store is unaffected.
        case tooMuchOfObject
        /// A request exceeds the limit on the bytes of its answer; the store is unaffected.
        case tooLarge
        /// The sort keys of a list exceed the bytes that its offsets can address; the store is
        /// unaffected.
        case keysTooLong
        /// The read was cancelled by its caller, or exceeded its budget.
        case interrupted
        /// No reader slot is free; the next snapshot has to wait.
        case noReader
        /// Any other failure of LMDB or the file system.
        case failed
    }

    /// The kind of the failure.
    package var code: Code
    /// A message that says what happened, where, and what to do.
    package var message: String
    /// Whether the cause is the system's `EIO`.
    private(set) var isInputOutput = false
    /// Whether the process temporarily can't get more memory or file descriptors.
    package private(set) var isOutOfResources = false

    /// Creates an error from a code and a message.
    package init(_ code: Code, _ message: String) {
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
            (code, message) = (.noSpace, what + "; free space on the disk; nothing was lost")
        case MDB_MAP_RESIZED:
            code = .failed
            message = what + "; another process opened it with a larger map: run the command again"
        case MDB_READERS_FULL:
            code = .noReader
            message = what + "; end a process that reads the store, or wait"
        case ENOMEM, EAGAIN, EMFILE, ENFILE:
            (code, isOutOfResources) = (.failed, true)
            message =
                what + "; allow the process more (`ulimit -a`) and start it again; nothing was lost"
        case MDB_INVALID, MDB_CORRUPTED, MDB_PAGE_NOTFOUND, MDB_PANIC:
            code = .failed
            message =
                what
                + "; stop the daemon and run `tandem rebuild`, which builds the store from its "
                + "journal"
        default:
            code = .failed
            message =
                what
                + "; check the disk, then start again; if that does not help, `tandem rebuild` "
                + "builds the store from its journal"
        }
    }

    /// Whether the store is temporarily full and otherwise intact.
    package var isShortage: Bool { code == .noSpace || code == .overQuota }

    /// Whether a request exceeded a read limit.
    package var isTooMuch: Bool {
        [.tooMuch, .tooMuchOfObject, .tooLarge, .keysTooLong].contains(code)
    }

    /// The message.
    package var description: String { message }
}
