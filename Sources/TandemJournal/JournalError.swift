public import TandemIO

/// What is wrong with a log: what kind, where, and what to do.
public struct JournalError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The kinds of trouble.
    public enum Code: String, Hashable, Sendable {
        /// A write or sync failed. Final: the log takes nothing more until it is opened again.
        case failed
        /// There is no room for the next batch, or no segment could be made for it. Nothing was
        /// written; try again later.
        case noSpace
        /// Bytes are not what was written.
        case damaged
        /// The log ends before what has been acknowledged or applied.
        case missing
        /// The segment was written by a newer version.
        case unsupportedVersion
        /// The position was given up by retention.
        case expired
        /// Another process has the log open.
        case locked
        /// A file could not be read, opened or removed.
        case unreadable
        /// The log was closed.
        case closed
    }

    /// What kind of trouble it is.
    public var code: Code
    /// The file or directory.
    public var path: String
    /// Where in the file, in bytes; nil where that has no meaning.
    public var offset: UInt64?
    /// What was found, and what was expected.
    public var message: String
    /// What to do about it.
    public var remedy: String
    /// The call that failed, if one did.
    public var cause: IOError?

    /// Makes an error from its parts.
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
        // The system's errors name the path themselves.
        return (message.contains(path) ? "" : "\(place): ") + "\(message). \(remedy)"
    }

    /// The remedy for a journal that has lost transactions.
    static let salvage =
        "Nothing was changed. `tandem salvage DIR --to NEW` makes a store of all that is left of the "
        + "directory of store and journal, and says what is lost; restore a backup if that is newer."

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
            remedy: "The log takes nothing more; stop the process, check the disk, start again.",
            cause: error)
    }

    static func noSpace(_ error: IOError) -> JournalError {
        JournalError(
            .noSpace, error.path, "\(error)",
            remedy: error.isOutOfSpace
                ? "Nothing was lost. Free room on the disk and try again."
                : "Nothing was lost. The next segment could not be made; it is tried again.",
            cause: error)
    }

    static func expired(_ directory: String, _ position: UInt64, oldest: UInt64) -> JournalError {
        JournalError(
            .expired, directory,
            "position \(position) is no longer kept, the oldest is \(oldest)",
            remedy: "Start again from a snapshot.")
    }
}

/// Runs file calls, with their errors turned into journal errors by `convert`.
func converting<Value>(
    _ convert: (IOError) -> JournalError, _ body: () throws(IOError) -> Value
) throws(JournalError) -> Value {
    do throws(IOError) {
        return try body()
    } catch {
        throw convert(error)
    }
}
