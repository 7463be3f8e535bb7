public import TandemModel

/// A part of a batch insert: some of its rows, in their order.
///
/// The daemon inserts them as one transaction or several, each of which says how many rows the batch has come to
/// (``BatchProgress/done``). Rows that it has come to already are passed over, so that a part may be sent again.
public struct BatchInsert: WireCodable {
    /// What is inserted.
    public struct Row: WireCodable {
        /// The number of the new object, which the client leased.
        public var number: ObjectNumber
        /// What stands for all rows of the batch up to this one, apart from their numbers.
        public var hash: StableHash
        /// What is set; the daemon fills in defaults.
        public var values: [SlotValue]
        /// Members of its to-many relationships: added ones.
        public var links: [LinkChange]

        /// A row of the given content.
        public init(
            number: ObjectNumber, hash: StableHash, values: [SlotValue], links: [LinkChange] = []
        ) {
            self.number = number
            self.hash = hash
            self.values = values
            self.links = links
        }
    }

    /// The id under which the batch may be repeated: 16 random bytes by default, at most ``WireLimits/batchIDBytes``.
    public var batchID: [UInt8]
    /// The author, if it is another one than the hello's.
    public var author: String?
    /// The name of the context.
    public var context: String
    /// What happens where an existing object has the unique values of a row.
    public var policy: MergePolicy
    /// The version of the model whose slots the values are of; see ``SaveRequest/modelVersion``.
    public var modelVersion: UInt16
    /// The entity of the new objects.
    public var entity: EntityTag
    /// How many rows of the batch come before these.
    public var first: UInt64
    /// What stands for the rows before these; before the first one, for entity and policy.
    public var before: StableHash
    /// The rows, at most ``WireLimits/batchObjects``; without any, and not the last part, it asks how far the batch came.
    public var rows: [Row]
    /// Whether the batch has no more rows.
    public var isLast: Bool
    /// Whether the answer names all rows that can't be inserted, as far as they were looked at, rather than the first.
    public var namesRefused: Bool
    /// The position in the last answer of this batch; 0 before the first.
    public var after: UInt64
    /// In a repetition the last position that was known when the part was sent first; see ``SaveRequest/firstSentAt``.
    public var firstSentAt: UInt64?

    /// A part of the given content.
    public init(
        batchID: [UInt8], author: String? = nil, context: String = "",
        policy: MergePolicy = .error, modelVersion: UInt16, entity: EntityTag, first: UInt64 = 0,
        before: StableHash, rows: [Row] = [], isLast: Bool = false, namesRefused: Bool = false,
        after: UInt64 = 0, firstSentAt: UInt64? = nil
    ) {
        self.batchID = batchID
        self.author = author
        self.context = context
        self.policy = policy
        self.modelVersion = modelVersion
        self.entity = entity
        self.first = first
        self.before = before
        self.rows = rows
        self.isLast = isLast
        self.namesRefused = namesRefused
        self.after = after
        self.firstSentAt = firstSentAt
    }

    /// Appends the binary form.
    public func encode(into writer: inout ByteWriter) {
        writer.blob(batchID)
        writer.optional(author) { $0.string($1) }
        writer.string(context)
        writer.uint8(policy.rawValue)
        writer.uint16(modelVersion)
        writer.uint16(entity)
        writer.uint64(first)
        writer.hash(before)
        writer.list(rows)
        writer.bool(isLast)
        writer.bool(namesRefused)
        writer.uint64(after)
        writer.optional(firstSentAt) { $0.uint64($1) }
    }

    /// Reads the binary form or throws `CodingError`.
    public init(from reader: inout ByteReader) throws(CodingError) {
        var start = reader.offset
        batchID = try reader.blob()
        guard batchID.count <= WireLimits.batchIDBytes else {
            throw CodingError(
                expected: "a batch id of at most \(WireLimits.batchIDBytes) bytes", offset: start)
        }
        author = try reader.optionalString()
        context = try reader.string()
        start = reader.offset
        guard let policy = MergePolicy(rawValue: try reader.uint8()) else {
            throw CodingError(expected: "a merge policy", offset: start)
        }
        self.policy = policy
        modelVersion = try reader.uint16()
        entity = try reader.uint16()
        first = try reader.uint64()
        before = try reader.hash()
        rows = try reader.list(
            of: Row.self, itemBytes: Row.minimumBytes, limit: WireLimits.batchObjects)
        isLast = try reader.bool()
        namesRefused = try reader.bool()
        after = try reader.uint64()
        firstSentAt = try reader.optional { reader throws(CodingError) in try reader.uint64() }
    }
}

extension BatchInsert.Row {
    /// The fewest bytes that one takes.
    static let minimumBytes = 26

    /// Appends the binary form.
    public func encode(into writer: inout ByteWriter) {
        writer.uint64(number)
        writer.hash(hash)
        writer.list(values) { $0.slotValue($1) }
        writer.list(links) { $0.link($1) }
    }

    /// Reads the binary form or throws `CodingError`, also for a row that removes links.
    public init(from reader: inout ByteReader) throws(CodingError) {
        let start = reader.offset
        number = try reader.uint64()
        hash = try reader.hash()
        values = try reader.list(itemBytes: 2, limit: PropertyMask.capacity) {
            reader throws(CodingError) in
            try reader.slotValue()
        }
        links = try reader.links()
        guard links.allSatisfy({ $0.action != .remove }) else {
            throw CodingError(expected: "a row that removes no links", offset: start)
        }
    }
}

/// The answer to a part of a batch insert: how far the batch has come.
public struct BatchInserted: WireCodable {
    /// The position of the batch's last transaction; the durable end when there is none.
    public var position: UInt64
    /// How many rows are inserted.
    public var rows: UInt64
    /// What stands for these rows: ``BatchInsert/Row/hash`` of the last one.
    public var hash: StableHash
    /// Whether the batch has ended.
    public var hasEnded: Bool
    /// Why not all rows of the part are inserted, if they are not.
    public var failure: TandemError?
    /// Which row of the batch the failure is about, counted from 0; nil when it is about none.
    public var failedRow: UInt64?
    /// The rows that can't be inserted, in their order, if the part asked for them (``BatchInsert/namesRefused``).
    ///
    /// The first is the failed one; behind the last of them there may be more.
    public var refused: [BatchRefusal]

    /// An answer of the given content.
    public init(
        position: UInt64, rows: UInt64, hash: StableHash, hasEnded: Bool,
        failure: TandemError? = nil, failedRow: UInt64? = nil, refused: [BatchRefusal] = []
    ) {
        self.position = position
        self.rows = rows
        self.hash = hash
        self.hasEnded = hasEnded
        self.failure = failure
        self.failedRow = failedRow
        self.refused = refused
    }

    /// Appends the binary form.
    public func encode(into writer: inout ByteWriter) {
        writer.uint64(position)
        writer.uint64(rows)
        writer.hash(hash)
        writer.bool(hasEnded)
        writer.optional(failure) { $1.encode(into: &$0) }
        writer.optional(failedRow) { $0.uint64($1) }
        writer.list(refused)
    }

    /// Reads the binary form or throws `CodingError`.
    public init(from reader: inout ByteReader) throws(CodingError) {
        position = try reader.uint64()
        rows = try reader.uint64()
        hash = try reader.hash()
        hasEnded = try reader.bool()
        failure = try reader.optional { reader throws(CodingError) in
            try TandemError(from: &reader)
        }
        failedRow = try reader.optional { reader throws(CodingError) in try reader.uint64() }
        refused = try reader.list(
            of: BatchRefusal.self, itemBytes: BatchRefusal.minimumBytes,
            limit: WireLimits.batchObjects)
    }
}

/// A row of a batch insert that can't be inserted.
public struct BatchRefusal: WireCodable {
    /// Which row of the batch it is, counted from 0.
    public var row: UInt64
    /// Why.
    public var error: TandemError

    /// A refusal of a row.
    public init(row: UInt64, error: TandemError) {
        self.row = row
        self.error = error
    }

    /// The fewest bytes that one takes.
    static let minimumBytes = 13

    /// Appends the binary form.
    public func encode(into writer: inout ByteWriter) {
        writer.uint64(row)
        error.encode(into: &writer)
    }

    /// Reads the binary form or throws `CodingError`.
    public init(from reader: inout ByteReader) throws(CodingError) {
        row = try reader.uint64()
        error = try TandemError(from: &reader)
    }
}

extension ByteWriter {
    fileprivate mutating func hash(_ value: StableHash) {
        uint64(value.first)
        uint64(value.second)
    }
}

extension ByteReader {
    fileprivate mutating func hash() throws(CodingError) -> StableHash {
        let first = try uint64()
        return StableHash(first: first, second: try uint64())
    }
}
