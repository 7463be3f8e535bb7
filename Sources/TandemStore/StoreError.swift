import CLMDB

/// Why the store could not do something: what was tried, on which path, what LMDB said, what to do.
public struct StoreError: Error, Hashable, Sendable, CustomStringConvertible {
    /// What kind of failure it is.
    public enum Code: Hashable, Sendable {
        /// The memory map is full; grow it and replay.
        case mapFull
        /// The directory belongs to another log, a newer format, or something else entirely.
        case notOurs
        /// The store contradicts itself or the journal.
        case damaged
        /// Any other failure of LMDB or the file system.
        case failed
    }

    /// What kind of failure it is.
    public var code: Code
    /// What happened, where, and what to do.
    public var message: String

    /// An error of a kind with its message.
    public init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    init(_ operation: String, _ path: String, _ status: Int32) {
        let reason = String(cString: mdb_strerror(status))
        code = status == MDB_MAP_FULL ? .mapFull : .failed
        message =
            "cannot \(operation) the store at \(path): \(reason) (\(status)); "
            + "stop the process, check the disk, start again"
    }

    /// The message.
    public var description: String { message }
}
