package import TandemModel

/// A transaction that matches the session's interests.
///
/// `previous` is the last position announced to the session, by a push or by an answer. A receiver
/// whose cursor differs has missed a transaction.
package struct TransactionPush: WireCodable {
    /// The last position announced before this one.
    package var previous: UInt64
    /// The transaction, with the chunks of the session's interests.
    package var transaction: EncodedTransaction

    /// Creates a push of `transaction` after `previous`.
    package init(previous: UInt64, transaction: EncodedTransaction) {
        self.previous = previous
        self.transaction = transaction
    }

    /// Appends the binary form: the predecessor, then the transaction's own bytes to the end.
    package func encode(into writer: inout ByteWriter) {
        writer.uint64(previous)
        writer.raw(transaction.bytes)
    }

    /// Reads the binary form, which extends to the end of the message, or throws `CodingError`.
    package init(from reader: inout ByteReader) throws(CodingError) {
        previous = try reader.uint64()
        let start = reader.offset
        transaction = try EncodedTransaction(wire: try reader.raw(reader.remaining), at: start)
    }
}

/// A progress mark: up to a position, no transaction matched the session's interests.
package struct ProgressPush: WireCodable {
    /// The last position announced before this one.
    package var previous: UInt64
    /// The position announced by this mark.
    package var position: UInt64

    /// Creates a mark at `position` after `previous`.
    package init(previous: UInt64, position: UInt64) {
        self.previous = previous
        self.position = position
    }

    /// Appends the binary form.
    package func encode(into writer: inout ByteWriter) {
        writer.uint64(previous)
        writer.uint64(position)
    }

    /// Reads the binary form or throws `CodingError`.
    package init(from reader: inout ByteReader) throws(CodingError) {
        previous = try reader.uint64()
        position = try reader.uint64()
    }
}
