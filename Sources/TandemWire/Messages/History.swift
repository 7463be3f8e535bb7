package import TandemModel

/// A request that is answered once the durable tail has reached a position.
package struct Sync: WireCodable {
    /// The position to wait for; a request with 0 is answered immediately.
    package var number: UInt64
    /// The time after which the request fails with `timeout`.
    package var timeoutMilliseconds: UInt32

    /// Creates a request to wait for position `number`.
    package init(number: UInt64 = 0, timeoutMilliseconds: UInt32 = 30_000) {
        self.number = number
        self.timeoutMilliseconds = timeoutMilliseconds
    }

    /// Appends the binary form.
    package func encode(into writer: inout ByteWriter) {
        writer.uint64(number)
        writer.uint32(timeoutMilliseconds)
    }

    /// Reads the binary form or throws `CodingError`.
    package init(from reader: inout ByteReader) throws(CodingError) {
        number = try reader.uint64()
        timeoutMilliseconds = try reader.uint32()
    }
}

/// A request for past transactions.
package struct HistoryRequest: WireCodable {
    /// The number of the position after which transactions are requested.
    package var from: UInt64
    /// The number of the last requested position; 0 means the journal's tail.
    package var to: UInt64
    /// The requested entities; empty for all.
    package var interests: [EntityTag]
    /// The largest number of transactions to return.
    package var limit: UInt32
    /// The condition that transactions have to satisfy.
    package var condition: HistoryCondition

    /// Creates a request for the transactions after `from`, up to `to`.
    package init(
        from: UInt64, to: UInt64 = 0, interests: [EntityTag] = [], limit: UInt32 = 1_000,
        condition: HistoryCondition = HistoryCondition()
    ) {
        self.from = from
        self.to = to
        self.interests = interests
        self.limit = limit
        self.condition = condition
    }

    /// Appends the binary form.
    package func encode(into writer: inout ByteWriter) {
        writer.uint64(from)
        writer.uint64(to)
        writer.tags(interests)
        writer.uint32(limit)
        condition.encode(into: &writer)
    }

    /// Reads the binary form or throws `CodingError`.
    package init(from reader: inout ByteReader) throws(CodingError) {
        from = try reader.uint64()
        to = try reader.uint64()
        interests = try reader.tags()
        limit = try reader.uint32()
        condition = try HistoryCondition(from: &reader)
    }
}

/// The answer to ``HistoryRequest``.
///
/// The answer does not announce its position, so it does not affect the predecessors that pushes
/// name.
package struct History: WireCodable {
    /// The number of the position up to which the answer is complete.
    package var position: UInt64
    /// The transactions in order, with only the chunks of the requested entities.
    package var transactions: [EncodedTransaction]
    /// Whether all requested transactions are included; if false, request the rest from `position`.
    package var isComplete: Bool
    /// The number of the oldest position in the journal.
    package var first: UInt64

    /// Creates an answer with the given content.
    package init(
        position: UInt64, transactions: [EncodedTransaction], isComplete: Bool, first: UInt64
    ) {
        self.position = position
        self.transactions = transactions
        self.isComplete = isComplete
        self.first = first
    }

    /// Appends the binary form.
    package func encode(into writer: inout ByteWriter) {
        writer.uint64(position)
        writer.list(transactions) { $0.blob($1.bytes) }
        writer.bool(isComplete)
        writer.uint64(first)
    }

    /// Reads the binary form or throws `CodingError`.
    package init(from reader: inout ByteReader) throws(CodingError) {
        position = try reader.uint64()
        // The smallest transaction, without names or changes, has 56 bytes.
        transactions = try reader.list(itemBytes: 56) { reader throws(CodingError) in
            let start = reader.offset
            return try EncodedTransaction(wire: try reader.blob(), at: start)
        }
        isComplete = try reader.bool()
        first = try reader.uint64()
    }
}

extension EncodedTransaction {
    /// Creates a transaction from bytes at `offset` in a message; errors report offsets in the
    /// message.
    init(wire bytes: [UInt8], at offset: Int) throws(CodingError) {
        do {
            try self.init(bytes: bytes)
        } catch {
            throw CodingError(
                expected: "a transaction with \(error.expected)", offset: offset + error.offset)
        }
    }
}
