public import TandemIO

/// An error of a log: its kind, its location and the remedy.
public struct JournalError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The kinds of errors.
    public enum Code: String, Hashable, Sendable {
        /// A write or sync failed. This is final: the log accepts nothing more until it is opened
        /// again.
        case failed
        /// There is no space for the next batch, or no segment could be created for it.
        ///
        /// Nothing was written; try again later.
        case noSpace
        /// Bytes differ from those that were written.
        case damaged
        /// The log ends before an acknowledged or applied position.
        case missing
        /// The segment was written by a newer version.
        case unsupportedVersion
        /// The position was removed by retention.
        case expired
        /// Another process has the log open.
        case locked
        /// A file could not be read, opened or removed.
        case unreadable
        /// The log was closed.
        case closed
    }

    /// The kind of error.
    public var code: Code
    /// The file or directory.
    public var path: String
    /// The offset in the file in bytes; nil if it does not apply.
    public var offset: UInt64?
    /// The problem, and what was expected.
    public var message: String
    /// The action that resolves the error.
    public var remedy: String
    /// The kernel call that failed, if there was one.
    public var cause: IOError?

    /// Creates an error from its components.
    public init(
        _ code: Code, _ path: String, at offset: UInt64? = nil, _ message: String, remedy: String,
        cause: IOError? = nil
    ) {
        self.code = code
        self.path = path
        self.offset = offset
        self.message = message
        self.remedy = remedy
        self.cause = cause
    }

    /// The error in one or two sentences.
    public var description: String {
        let place = offset.map { "\(path) at offset \($0)" } ?? path
        // The messages of system errors contain the path.
        return (message.contains(path) ? "" : "\(place): ") + "\(message). \(remedy)"
    }

    /// The remedy for a journal that has lost transactions.
    static let salvage =
        "Nothing was changed. `tandem salvage DIR --to NEW` makes a store of all readable data in the "
        + "directory of store and journal, and reports the losses; restore a backup if that is newer."

    static func damaged(_ path: String, at offset: UInt64, _ message: String) -> JournalError {
        JournalError(
            .damaged, path, at: offset, message,
            remedy: salvage)
    }

    static func unreadable(_ error: IOError) -> JournalError {
        JournalError(
            .unreadable, error.path, "\(error)",
            remedy: "Check the directory's owner, mode and disk, then open the log again.",
            cause: error)
    }

    static func failed(_ error: IOError) -> JournalError {
        JournalError(
            .failed, error.path, "\(error)",
            remedy:
                "The log accepts nothing more; stop the process, check the disk, and start again.",
            cause: error)
    }

    static func noSpace(_ error: IOError) -> JournalError {
        JournalError(
            .noSpace, error.path, "\(error)",
            remedy: error.isOutOfSpace
                ? "Free space on the disk and try again; nothing was lost."
                : "The next segment could not be created; the daemon tries again. Nothing was lost.",
            cause: error)
    }

    static func expired(_ directory: String, _ position: UInt64, oldest: UInt64) -> JournalError {
        JournalError(
            .expired, directory,
            "position \(position) is no longer in the journal, which begins at \(oldest)",
            remedy: "Start again from a snapshot.")
    }
}

/// Runs `body`, and converts its errors to journal errors.
func converting<Value>(
    _ convert: (IOError) -> JournalError, _ body: () throws(IOError) -> Value
) throws(JournalError) -> Value {
    do throws(IOError) {
        return try body()
    } catch {
        throw convert(error)
    }
}
