public import TandemModel
public import TandemQuery

/// Asks to delete all objects of a request, or to change them all alike.
///
/// The daemon works it off as several transactions of at most ``WireLimits/batchObjects`` objects, between the saves of others.
public struct Batch: WireCodable {
    /// What is done to each object.
    public enum Work: Hashable, Sendable {
        /// It is deleted.
        case delete
        /// These values are set.
        case update([SlotValue])
    }

    /// The id under which the batch may be repeated: 16 random bytes by default, at most ``WireLimits/batchIDBytes``.
    public var batchID: [UInt8]
    /// What is to be done: a repeat must have the same.
    public var contentHash: StableHash
    /// The author, if it is another one than the hello's.
    public var author: String?
    /// The name of the context.
    public var context: String
    /// The version of the model whose slots the values are of; see ``SaveRequest/modelVersion``.
    public var modelVersion: UInt16
    /// Which objects.
    public var request: FetchRequest
    /// What is done to each.
    public var work: Work
    /// In a repetition the last position that was known when the batch was sent first; see ``SaveRequest/firstSentAt``.
    public var firstSentAt: UInt64?

    /// A batch of the given content.
    public init(
        batchID: [UInt8], contentHash: StableHash, author: String? = nil, context: String = "",
        modelVersion: UInt16, request: FetchRequest, work: Work, firstSentAt: UInt64? = nil
    ) {
        self.batchID = batchID
        self.contentHash = contentHash
        self.author = author
        self.context = context
        self.modelVersion = modelVersion
        self.request = request
        self.work = work
        self.firstSentAt = firstSentAt
    }

    /// Appends the binary form.
    public func encode(into writer: inout ByteWriter) {
        writer.blob(batchID)
        writer.uint64(contentHash.first)
        writer.uint64(contentHash.second)
        writer.optional(author) { $0.string($1) }
        writer.string(context)
        writer.uint16(modelVersion)
        request.encode(into: &writer)
        switch work {
        case .delete: writer.uint8(1)
        case .update(let values):
            writer.uint8(2)
            writer.list(values) { $0.slotValue($1) }
        }
        writer.optional(firstSentAt) { $0.uint64($1) }
    }

    /// Reads the binary form or throws `CodingError`.
    public init(from reader: inout ByteReader) throws(CodingError) {
        let start = reader.offset
        batchID = try reader.blob()
        guard batchID.count <= WireLimits.batchIDBytes else {
            throw CodingError(
                expected: "a batch id of at most \(WireLimits.batchIDBytes) bytes", offset: start)
        }
        contentHash = StableHash(first: try reader.uint64(), second: try reader.uint64())
        author = try reader.optionalString()
        context = try reader.string()
        modelVersion = try reader.uint16()
        request = try FetchRequest(from: &reader)
        work = try Work(from: &reader)
        firstSentAt = try reader.optional { reader throws(CodingError) in try reader.uint64() }
    }
}

extension Batch.Work {
    fileprivate init(from reader: inout ByteReader) throws(CodingError) {
        let start = reader.offset
        switch try reader.uint8() {
        case 1: self = .delete
        case 2:
            self = .update(
                try reader.list(itemBytes: 2, limit: PropertyMask.capacity) {
                    reader throws(CodingError) in
                    try reader.slotValue()
                })
        default: throw CodingError(expected: "the work of a batch", offset: start)
        }
    }
}

/// The answer to a batch: how far it came.
public struct Batched: WireCodable {
    /// The position of its last transaction; the durable end when it wrote none.
    public var position: UInt64
    /// How many objects are done.
    public var count: UInt64
    /// Why it ended before all were done, if it did.
    public var failure: TandemError?

    /// An answer of the given content.
    public init(position: UInt64, count: UInt64, failure: TandemError? = nil) {
        self.position = position
        self.count = count
        self.failure = failure
    }

    /// Appends the binary form.
    public func encode(into writer: inout ByteWriter) {
        writer.uint64(position)
        writer.uint64(count)
        writer.optional(failure) { $1.encode(into: &$0) }
    }

    /// Reads the binary form or throws `CodingError`.
    public init(from reader: inout ByteReader) throws(CodingError) {
        position = try reader.uint64()
        count = try reader.uint64()
        failure = try reader.optional { reader throws(CodingError) in
            try TandemError(from: &reader)
        }
    }
}
