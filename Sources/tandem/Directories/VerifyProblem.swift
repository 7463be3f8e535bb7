import Tandem

/// A problem of a journal, store or backup, with its file and location.
struct VerifyProblem: Hashable {
    /// The kinds of problems, for scripts.
    enum Kind: String {
        /// Batches that are unreadable or missing.
        case gap
        /// Bytes after the batches of a finished segment.
        case garbage
        /// A transaction that is unreadable or has an unexpected position.
        case transaction
        /// A segment that belongs to another log or an older epoch than its predecessor.
        case identity
        /// An index that is unusable or contradicts its segment.
        case index
        /// A store that is missing, that belongs to another log or a newer epoch, or whose position
        /// does not fit the journal.
        case store
        /// A difference between the store and a replay of the journal.
        case difference
    }

    var kind: Kind
    /// The path of the file.
    var path: String
    /// The offset in the file; nil if the problem has no offset.
    var offset: UInt64?
    /// The affected positions; nil if there are none.
    var positions: ClosedRange<UInt64>?
    var message: String

    /// The problem as a human-readable line.
    var line: String {
        "\(kind.rawValue): \(path)" + (offset.map { " at offset \($0)" } ?? "") + ": \(message)"
    }

    /// The problem as a JSON object, printed on one line.
    var json: JSON {
        func number(_ value: UInt64?) -> JSON { value.map { .int(Int64(clamping: $0)) } ?? .null }
        return .object([
            "kind": .string(kind.rawValue), "path": .string(path), "offset": number(offset),
            "first": number(positions?.lowerBound), "last": number(positions?.upperBound),
            "message": .string(message),
        ])
    }
}
