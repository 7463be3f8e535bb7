package import TandemModel
package import TandemQuery

/// A request to delete all objects that match a fetch request, or to set the same values in all of
/// them.
///
/// The daemon processes it as several transactions of at most ``WireLimits/batchObjects`` objects,
/// between the saves of other clients.
package struct Batch: WireCodable {
    /// The operation on each object.
    package enum Work: Hashable, Sendable {
        /// The object is deleted.
        case delete
        /// The object's values are set.
        case update([SlotValue])
    }

    /// The id under which the batch may be retried: 16 random bytes by default, at most
    /// ``WireLimits/batchIDBytes``.
    package var batchID: [UInt8]
    /// The hash of the batch's content; a retry must have the same hash.
    package var contentHash: StableHash
    /// The author, if it differs from the hello's.
    package var author: String?
    /// The name of the context.
    package var context: String
    /// The version of the model to which the slots of the values belong; see
    /// ``SaveRequest/modelVersion``.
    package var modelVersion: UInt16
    /// The fetch request that selects the objects.
    package var request: FetchDescriptor
    /// The operation on each object.
    package var work: Work
    /// In a retry, the last position known when the batch was first sent; see
    /// ``SaveRequest/firstSentAt``.
    package var firstSentAt: UInt64?

    /// Creates a batch with the given content.
    package init(
        batchID: [UInt8], contentHash: StableHash, author: String? = nil, context: String = "",
        modelVersion: UInt16, request: FetchDescriptor, work: Work, firstSentAt: UInt64? = nil
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
    package func encode(into writer: inout ByteWriter) {
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
    package init(from reader: inout ByteReader) throws(CodingError) {
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
        request = try FetchDescriptor(from: &reader)
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
        default: throw CodingError(expected: "a kind of batch", offset: start)
        }
    }
}

/// The answer to a batch, with its progress.
package struct BatchAnswer: WireCodable {
    /// The position of the batch's last transaction; the durable tail if it wrote none.
    package var position: UInt64
    /// The number of objects processed.
    package var count: UInt64
    /// The reason why the batch ended early; nil if all objects were processed.
    package var failure: TandemError?

    /// Creates an answer with the given content.
    package init(position: UInt64, count: UInt64, failure: TandemError? = nil) {
        self.position = position
        self.count = count
        self.failure = failure
    }

    /// Appends the binary form.
    package func encode(into writer: inout ByteWriter) {
        writer.uint64(position)
        writer.uint64(count)
        writer.optional(failure) { $1.encode(into: &$0) }
    }

    /// Reads the binary form or throws `CodingError`.
    package init(from reader: inout ByteReader) throws(CodingError) {
        position = try reader.uint64()
        count = try reader.uint64()
        failure = try reader.optional { reader throws(CodingError) in
            try TandemError(from: &reader)
        }
    }
}
