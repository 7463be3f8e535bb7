package import TandemModel

/// A chunk of a batch insert: some of its rows, in order.
///
/// The daemon inserts the rows in one or more transactions, each of which records how many rows of
/// the batch are done (``BatchProgress/done``). Rows that are already done are skipped, so a chunk
/// may be sent again.
package struct BatchInsert: WireCodable {
    /// A row to insert.
    package struct Row: WireCodable {
        /// The number of the new object, leased by the client.
        package var number: ObjectNumber
        /// The hash of all rows of the batch up to this one, without their numbers.
        package var hash: StableHash
        /// The values to set; the daemon adds the defaults.
        package var values: [SlotValue]
        /// The members to add to the object's to-many relationships.
        package var links: [LinkChange]

        /// Creates a row with the given content.
        package init(
            number: ObjectNumber, hash: StableHash, values: [SlotValue], links: [LinkChange] = []
        ) {
            self.number = number
            self.hash = hash
            self.values = values
            self.links = links
        }
    }

    /// The id under which the batch may be retried: 16 random bytes by default, at most
    /// ``WireLimits/batchIDBytes``.
    package var batchID: [UInt8]
    /// The author, if it differs from the hello's.
    package var author: String?
    /// The name of the context.
    package var context: String
    /// The policy for rows that have the same unique values as an existing object.
    package var policy: MergePolicy
    /// The version of the model to which the slots of the values belong; see
    /// ``SaveRequest/modelVersion``.
    package var modelVersion: UInt16
    /// The entity of the new objects.
    package var entity: EntityTag
    /// The number of the batch's rows before this chunk.
    package var first: UInt64
    /// The hash of the batch's rows before this chunk; for the first chunk, the hash of entity and
    /// policy.
    package var before: StableHash
    /// The rows, at most ``WireLimits/batchObjects``.
    ///
    /// A chunk without rows that is not the last one only requests the batch's progress.
    package var rows: [Row]
    /// Whether the batch has no more rows.
    package var isLast: Bool
    /// Whether the answer lists all evaluated rows that can't be inserted, rather than only the
    /// first.
    package var namesRefused: Bool
    /// The position in the last answer of this batch; 0 before the first.
    package var after: UInt64
    /// In a retry, the last position known when the chunk was first sent; see
    /// ``SaveRequest/firstSentAt``.
    package var firstSentAt: UInt64?

    /// Creates a chunk with the given content.
    package init(
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
    package func encode(into writer: inout ByteWriter) {
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
    package init(from reader: inout ByteReader) throws(CodingError) {
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
    /// The smallest size of a row in bytes.
    static let minimumBytes = 26

    /// Appends the binary form.
    package func encode(into writer: inout ByteWriter) {
        writer.uint64(number)
        writer.hash(hash)
        writer.list(values) { $0.slotValue($1) }
        writer.list(links) { $0.link($1) }
    }

    /// Reads the binary form; throws `CodingError` if it is invalid or the row removes links.
    package init(from reader: inout ByteReader) throws(CodingError) {
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

/// The answer to a chunk of a batch insert, with the batch's progress.
package struct BatchInsertAnswer: WireCodable {
    /// The position of the batch's last transaction; the durable tail if there is none.
    package var position: UInt64
    /// The number of rows inserted.
    package var rows: UInt64
    /// The hash of the inserted rows: ``BatchInsert/Row/hash`` of the last one.
    package var hash: StableHash
    /// Whether the batch has ended.
    package var hasEnded: Bool
    /// The reason why some rows of the chunk were not inserted; nil if all were.
    package var failure: TandemError?
    /// The index in the batch of the row that failed, from 0; nil if the failure concerns no row.
    package var failedRow: UInt64?
    /// The rows that can't be inserted, in order, if the chunk requested them
    /// (``BatchInsert/namesRefused``).
    ///
    /// The first is the row that failed; rows after the last one listed may be invalid too.
    package var refused: [BatchRefusal]

    /// Creates an answer with the given content.
    package init(
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
    package func encode(into writer: inout ByteWriter) {
        writer.uint64(position)
        writer.uint64(rows)
        writer.hash(hash)
        writer.bool(hasEnded)
        writer.optional(failure) { $1.encode(into: &$0) }
        writer.optional(failedRow) { $0.uint64($1) }
        writer.list(refused)
    }

    /// Reads the binary form or throws `CodingError`.
    package init(from reader: inout ByteReader) throws(CodingError) {
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
package struct BatchRefusal: WireCodable {
    /// The index of the row in the batch, from 0.
    package var row: UInt64
    /// The reason.
    package var error: TandemError

    /// Creates the refusal of a row.
    package init(row: UInt64, error: TandemError) {
        self.row = row
        self.error = error
    }

    /// The smallest size of a refusal in bytes.
    static let minimumBytes = 13

    /// Appends the binary form.
    package func encode(into writer: inout ByteWriter) {
        writer.uint64(row)
        error.encode(into: &writer)
    }

    /// Reads the binary form or throws `CodingError`.
    package init(from reader: inout ByteReader) throws(CodingError) {
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
