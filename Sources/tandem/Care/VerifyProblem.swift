import Tandem

/// Something that a journal or a store should not have, with the file and where in it.
struct VerifyProblem: Hashable {
    /// The kinds, which scripts go by.
    enum Kind: String {
        /// Batches that can't be read, or are not there.
        case gap
        /// Bytes behind the batches of a segment that is finished.
        case garbage
        /// A transaction that can't be read, or is another than its place says.
        case transaction
        /// A segment of another log, or of an older epoch than the one before.
        case identity
        /// The index of a segment that can't be used, or says something else than the segment.
        case index
        /// The store is not there, of another log, or stands where the journal does not lead.
        case store
        /// The store is another than the journal makes.
        case difference
    }

    var kind: Kind
    /// The file.
    var path: String
    /// Where in it; nil where that has no meaning.
    var offset: UInt64?
    /// The positions that are concerned; nil where that has no meaning.
    var positions: ClosedRange<UInt64>?
    var message: String

    /// A line for people.
    var line: String {
        "\(kind.rawValue): \(path)" + (offset.map { " offset \($0)" } ?? "") + ": \(message)"
    }

    /// One object a line.
    var json: JSON {
        func number(_ value: UInt64?) -> JSON { value.map { .int(Int64(clamping: $0)) } ?? .null }
        return .object([
            "kind": .string(kind.rawValue), "path": .string(path), "offset": number(offset),
            "first": number(positions?.lowerBound), "last": number(positions?.upperBound),
            "message": .string(message),
        ])
    }
}
