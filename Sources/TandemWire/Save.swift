public import TandemModel

/// Asks to write what a context changed, as one transaction.
public struct SaveRequest: WireCodable {
    /// The id under which the save may be repeated: 16 random bytes by default, at most 64.
    public var saveID: [UInt8]
    /// What is saved, apart from the numbers of new objects: a repeat must have the same.
    public var contentHash: StableHash
    /// The author, if it is another one than the hello's.
    public var author: String?
    /// The name of the context.
    public var context: String
    /// What happens where others changed the same objects.
    public var policy: MergePolicy
    /// The version of the model whose slots and tags the operations are of.
    ///
    /// Under another model they would mean other properties: the daemon refuses the save with `schemaMismatch`, unless it is a
    /// repeat of one that happened. 0, which no model has, is refused by every store.
    public var modelVersion: UInt16
    /// What changed, inserts in the order of insertion.
    public var operations: [SaveOperation]
    /// What changed in binary form, from a saver who writes that at once; then ``operations`` is empty.
    public var encoded: EncodedOperations?
    /// Whether nothing is to be done but to answer what became of an earlier save under this id, if it is known.
    public var onlyAsks: Bool
    /// In a repetition the last position that was known when the save was sent first.
    ///
    /// When the daemon no longer knows the ids of saves after it, it answers `unknownOutcome`.
    public var firstSentAt: UInt64?

    /// A save of the given content.
    public init(
        saveID: [UInt8], contentHash: StableHash, author: String? = nil, context: String = "",
        policy: MergePolicy = .error, modelVersion: UInt16, operations: [SaveOperation] = [],
        encoded: EncodedOperations? = nil, onlyAsks: Bool = false, firstSentAt: UInt64? = nil
    ) {
        precondition(
            operations.isEmpty || encoded == nil, "A save has operations in one form, not in two.")
        self.saveID = saveID
        self.contentHash = contentHash
        self.author = author
        self.context = context
        self.policy = policy
        self.modelVersion = modelVersion
        self.operations = operations
        self.encoded = encoded
        self.onlyAsks = onlyAsks
        self.firstSentAt = firstSentAt
    }

    /// The new objects, in the order of insertion.
    public var inserts: [ObjectReference] {
        if let encoded { return encoded.inserts }
        return operations.compactMap {
            if case .insert(let object, _, _) = $0 { object } else { nil }
        }
    }

    /// Whether nothing changed.
    public var isEmpty: Bool { encoded.map { $0.count == 0 } ?? operations.isEmpty }

    /// Appends the binary form.
    public func encode(into writer: inout ByteWriter) {
        writer.blob(saveID)
        writer.uint64(contentHash.first)
        writer.uint64(contentHash.second)
        writer.optional(author) { $0.string($1) }
        writer.string(context)
        writer.uint8(policy.rawValue)
        writer.uint16(modelVersion)
        if let encoded { writer.raw(encoded.bytes) } else { writer.list(operations) }
        writer.bool(onlyAsks)
        writer.optional(firstSentAt) { $0.uint64($1) }
    }

    /// Reads the binary form or throws `CodingError`.
    public init(from reader: inout ByteReader) throws(CodingError) {
        var start = reader.offset
        saveID = try reader.blob()
        guard saveID.count <= WireLimits.saveIDBytes else {
            throw CodingError(
                expected: "a save id of at most \(WireLimits.saveIDBytes) bytes", offset: start)
        }
        contentHash = StableHash(first: try reader.uint64(), second: try reader.uint64())
        author = try reader.optionalString()
        context = try reader.string()
        start = reader.offset
        guard let policy = MergePolicy(rawValue: try reader.uint8()) else {
            throw CodingError(expected: "a merge policy", offset: start)
        }
        self.policy = policy
        modelVersion = try reader.uint16()
        operations = try reader.list(
            of: SaveOperation.self, itemBytes: SaveOperation.minimumBytes)
        onlyAsks = try reader.bool()
        firstSentAt = try reader.optional { reader throws(CodingError) in try reader.uint64() }
    }
}

/// A value that a save sets, and what it was when the change was made.
public struct SaveValue: WireCodable {
    /// The slot of the property.
    public var slot: Int
    /// The new value.
    public var value: Value
    /// The value that the change was based on; nil when the saver did not know it.
    public var base: Value?

    /// A new value over a known or unknown base.
    public init(slot: Int, value: Value, base: Value? = nil) {
        self.slot = slot
        self.value = value
        self.base = base
    }

    /// Appends the binary form.
    public func encode(into writer: inout ByteWriter) { writer.saveValue(slot, value, base: base) }

    /// Reads the binary form or throws `CodingError`.
    public init(from reader: inout ByteReader) throws(CodingError) {
        slot = try reader.slot()
        value = try Value(from: &reader)
        base = try reader.optional { reader throws(CodingError) in try Value(from: &reader) }
    }
}

/// The answer to a save: where it is in the journal and what became of it.
///
/// A repetition under the same id gets the first answer again, but for ``isRepeat``.
public struct Saved: WireCodable {
    /// The position of the save; the durable end when nothing was written.
    public var position: UInt64
    /// False when there was no net effect.
    public var wrote: Bool
    /// True when the save was known under its id already.
    public var isRepeat: Bool
    /// What each insert of the request became, in its order.
    ///
    /// Its own object, the existing object that took its place by a uniqueness constraint, or nil when the same save deleted it.
    public var inserted: [ObjectReference?]

    /// An answer of the given content.
    public init(
        position: UInt64, wrote: Bool, isRepeat: Bool = false, inserted: [ObjectReference?] = []
    ) {
        self.position = position
        self.wrote = wrote
        self.isRepeat = isRepeat
        self.inserted = inserted
    }

    /// Appends the binary form.
    public func encode(into writer: inout ByteWriter) {
        writer.uint64(position)
        writer.bool(wrote)
        writer.bool(isRepeat)
        writer.list(inserted) { writer, object in
            writer.optional(object) { $0.reference($1) }
        }
    }

    /// Reads the binary form or throws `CodingError`.
    public init(from reader: inout ByteReader) throws(CodingError) {
        position = try reader.uint64()
        wrote = try reader.bool()
        isRepeat = try reader.bool()
        inserted = try reader.list(itemBytes: 1) { reader throws(CodingError) in
            try reader.optional { reader throws(CodingError) in try reader.reference() }
        }
    }
}
