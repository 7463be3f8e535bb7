public import TandemModel

/// Asks to hear when the daemon's durable end has reached a number.
public struct Sync: WireCodable {
    /// The number; 0 is answered at once.
    public var number: UInt64
    /// How long to wait before the answer is a `timeout`.
    public var timeoutMilliseconds: UInt32

    /// A wait for `number`.
    public init(number: UInt64 = 0, timeoutMilliseconds: UInt32 = 30_000) {
        self.number = number
        self.timeoutMilliseconds = timeoutMilliseconds
    }

    /// Appends the binary form.
    public func encode(into writer: inout ByteWriter) {
        writer.uint64(number)
        writer.uint32(timeoutMilliseconds)
    }

    /// Reads the binary form or throws `CodingError`.
    public init(from reader: inout ByteReader) throws(CodingError) {
        number = try reader.uint64()
        timeoutMilliseconds = try reader.uint32()
    }
}

/// Asks for transactions of the past.
public struct HistoryRequest: WireCodable {
    /// Transactions after this number are wanted.
    public var from: UInt64
    /// The last number wanted; 0 is the end.
    public var to: UInt64
    /// The entities wanted; empty is all.
    public var interests: [EntityTag]
    /// At most this many transactions.
    public var limit: UInt32
    /// What transactions have to meet.
    public var condition: HistoryCondition

    /// A question about the transactions after `from`, up to `to`.
    public init(
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
    public func encode(into writer: inout ByteWriter) {
        writer.uint64(from)
        writer.uint64(to)
        writer.tags(interests)
        writer.uint32(limit)
        condition.encode(into: &writer)
    }

    /// Reads the binary form or throws `CodingError`.
    public init(from reader: inout ByteReader) throws(CodingError) {
        from = try reader.uint64()
        to = try reader.uint64()
        interests = try reader.tags()
        limit = try reader.uint32()
        condition = try HistoryCondition(from: &reader)
    }
}

/// The answer to ``HistoryRequest``.
///
/// Its position is not announced by it: the predecessors of pushes do not count it.
public struct History: WireCodable {
    /// The answer covers everything up to this number.
    public var position: UInt64
    /// The transactions in order, only with the chunks of the entities that were asked for.
    public var transactions: [EncodedTransaction]
    /// False when the limit was reached: ask again from `position`.
    public var isComplete: Bool

    /// An answer of the given content.
    public init(position: UInt64, transactions: [EncodedTransaction], isComplete: Bool) {
        self.position = position
        self.transactions = transactions
        self.isComplete = isComplete
    }

    /// Appends the binary form.
    public func encode(into writer: inout ByteWriter) {
        writer.uint64(position)
        writer.list(transactions) { $0.blob($1.bytes) }
        writer.bool(isComplete)
    }

    /// Reads the binary form or throws `CodingError`.
    public init(from reader: inout ByteReader) throws(CodingError) {
        position = try reader.uint64()
        // The smallest transaction, without names and changes, has 56 bytes.
        transactions = try reader.list(itemBytes: 56) { reader throws(CodingError) in
            let start = reader.offset
            return try EncodedTransaction(wire: try reader.blob(), at: start)
        }
        isComplete = try reader.bool()
    }
}

extension EncodedTransaction {
    /// Takes bytes that lie at `offset` of a message, which an error then names.
    init(wire bytes: [UInt8], at offset: Int) throws(CodingError) {
        do {
            try self.init(bytes: bytes)
        } catch {
            throw CodingError(
                expected: "a transaction with \(error.expected)", offset: offset + error.offset)
        }
    }
}
