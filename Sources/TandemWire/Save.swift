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
    /// What changed, inserts in the order of insertion.
    public var operations: [SaveOperation]

    /// A save of the given content.
    public init(
        saveID: [UInt8], contentHash: StableHash, author: String? = nil, context: String = "",
        policy: MergePolicy = .error, operations: [SaveOperation]
    ) {
        self.saveID = saveID
        self.contentHash = contentHash
        self.author = author
        self.context = context
        self.policy = policy
        self.operations = operations
    }

    /// Appends the binary form.
    public func encode(into writer: inout ByteWriter) {
        writer.blob(saveID)
        writer.uint64(contentHash.first)
        writer.uint64(contentHash.second)
        writer.optional(author) { $0.string($1) }
        writer.string(context)
        writer.uint8(policy.rawValue)
        writer.list(operations)
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
        operations = try reader.list(
            of: SaveOperation.self, itemBytes: SaveOperation.minimumBytes)
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
    public func encode(into writer: inout ByteWriter) {
        writer.count(slot)
        value.encode(into: &writer)
        writer.optional(base) { $1.encode(into: &$0) }
    }

    /// Reads the binary form or throws `CodingError`.
    public init(from reader: inout ByteReader) throws(CodingError) {
        slot = try reader.slot()
        value = try Value(from: &reader)
        base = try reader.optional { reader throws(CodingError) in try Value(from: &reader) }
    }
}

/// The answer to a save: where it is in the journal and what became of it.
public struct Saved: WireCodable {
    /// The position of the save, in a repeat that of the first one.
    ///
    /// The durable end when nothing was written.
    public var position: UInt64
    /// False when there was no net effect, or in a repeat.
    public var wrote: Bool
    /// True when the save was known under its id already.
    public var isRepeat: Bool
    /// The inserted objects in the order of insertion; those of the first save in a repeat.
    public var inserted: [ObjectReference]
    /// New objects whose place an existing one took, by a uniqueness constraint.
    public var replaced: [Replacement]

    /// An answer of the given content.
    public init(
        position: UInt64, wrote: Bool, isRepeat: Bool = false, inserted: [ObjectReference] = [],
        replaced: [Replacement] = []
    ) {
        self.position = position
        self.wrote = wrote
        self.isRepeat = isRepeat
        self.inserted = inserted
        self.replaced = replaced
    }

    /// Appends the binary form.
    public func encode(into writer: inout ByteWriter) {
        writer.uint64(position)
        writer.bool(wrote)
        writer.bool(isRepeat)
        writer.references(inserted)
        writer.list(replaced)
    }

    /// Reads the binary form or throws `CodingError`.
    public init(from reader: inout ByteReader) throws(CodingError) {
        position = try reader.uint64()
        wrote = try reader.bool()
        isRepeat = try reader.bool()
        inserted = try reader.references()
        replaced = try reader.list(of: Replacement.self, itemBytes: 18)
    }
}

/// A new object that became an existing one; its own number is never used.
public struct Replacement: WireCodable {
    /// The number of the new object.
    public var number: ObjectNumber
    /// The existing object.
    public var by: ObjectReference

    /// The object `by` takes the place of the new `number`.
    public init(number: ObjectNumber, by: ObjectReference) {
        self.number = number
        self.by = by
    }

    /// Appends the binary form.
    public func encode(into writer: inout ByteWriter) {
        writer.uint64(number)
        writer.reference(by)
    }

    /// Reads the binary form or throws `CodingError`.
    public init(from reader: inout ByteReader) throws(CodingError) {
        number = try reader.uint64()
        by = try reader.reference()
    }
}
