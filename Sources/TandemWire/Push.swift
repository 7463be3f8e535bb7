public import TandemModel

/// A transaction that interests the session.
///
/// `previous` is the last position that the session announced before, by a push or by an answer:
/// a receiver that stands elsewhere has missed something.
public struct TransactionPush: WireCodable {
    /// The last position announced before.
    public var previous: UInt64
    /// The transaction, with the chunks of the session's interests.
    public var transaction: EncodedTransaction

    /// A push of `transaction` after `previous`.
    public init(previous: UInt64, transaction: EncodedTransaction) {
        self.previous = previous
        self.transaction = transaction
    }

    /// Appends the binary form: the predecessor, then the transaction's own bytes to the end.
    public func encode(into writer: inout ByteWriter) {
        writer.uint64(previous)
        writer.raw(transaction.bytes)
    }

    /// Reads the binary form, which takes all that is left, or throws `CodingError`.
    public init(from reader: inout ByteReader) throws(CodingError) {
        previous = try reader.uint64()
        let start = reader.offset
        transaction = try EncodedTransaction(wire: try reader.raw(reader.remaining), at: start)
    }
}

/// Nothing that interests the session happened up to a position.
public struct ProgressPush: WireCodable {
    /// The last position announced before.
    public var previous: UInt64
    /// The position announced now.
    public var position: UInt64

    /// A mark at `position` after `previous`.
    public init(previous: UInt64, position: UInt64) {
        self.previous = previous
        self.position = position
    }

    /// Appends the binary form.
    public func encode(into writer: inout ByteWriter) {
        writer.uint64(previous)
        writer.uint64(position)
    }

    /// Reads the binary form or throws `CodingError`.
    public init(from reader: inout ByteReader) throws(CodingError) {
        previous = try reader.uint64()
        position = try reader.uint64()
    }
}
