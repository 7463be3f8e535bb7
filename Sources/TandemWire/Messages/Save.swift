package import TandemModel

/// A request to write the changes of a context as one transaction.
package struct SaveRequest: WireCodable {
    /// The id under which the save may be retried: 16 random bytes by default, at most 64.
    package var saveID: [UInt8]
    /// The hash of the save's content without the numbers of new objects; a retry must have the
    /// same hash.
    package var contentHash: StableHash
    /// The author, if it differs from the hello's.
    package var author: String?
    /// The name of the context.
    package var context: String
    /// The policy for objects that other clients have changed as well.
    package var policy: MergePolicy
    /// The version of the model to which the slots and tags of the operations belong.
    ///
    /// In another model, the slots and tags would refer to other properties. The daemon therefore
    /// refuses the save with `schemaMismatch`, unless it is a retry of a save that was written. No
    /// model has version 0, so every store refuses it.
    package var modelVersion: UInt16
    /// The changes, with inserts in the order of insertion.
    package var operations: [SaveOperation]
    /// The changes in binary form, from a client that encodes them directly; ``operations`` is then
    /// empty.
    package var encoded: EncodedOperations?
    /// Whether the daemon should only return the outcome of an earlier save with this id, if it
    /// knows one.
    package var onlyAsks: Bool
    /// In a retry, the last position known when the save was first sent.
    ///
    /// If the daemon has forgotten ids of saves after this position, it answers `unknownOutcome`.
    package var firstSentAt: UInt64?

    /// Creates a save with the given content.
    package init(
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
    package var inserts: [ObjectReference] {
        if let encoded { return encoded.inserts }
        return operations.compactMap {
            if case .insert(let object, _, _) = $0 { object } else { nil }
        }
    }

    /// Whether the save has no operations.
    package var isEmpty: Bool { encoded.map { $0.count == 0 } ?? operations.isEmpty }

    /// Appends the binary form.
    package func encode(into writer: inout ByteWriter) {
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
    package init(from reader: inout ByteReader) throws(CodingError) {
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

/// A value that a save sets, and the base value of the change.
package struct SaveValue: WireCodable {
    /// The slot of the property.
    package var slot: Int
    /// The new value.
    package var value: PropertyValue
    /// The value on which the change was based; nil if the client did not know it.
    package var base: PropertyValue?

    /// Creates a new value with a known or unknown base.
    package init(slot: Int, value: PropertyValue, base: PropertyValue? = nil) {
        self.slot = slot
        self.value = value
        self.base = base
    }

    /// Appends the binary form.
    package func encode(into writer: inout ByteWriter) { writer.saveValue(slot, value, base: base) }

    /// Reads the binary form or throws `CodingError`.
    package init(from reader: inout ByteReader) throws(CodingError) {
        slot = try reader.slot()
        value = try PropertyValue(from: &reader)
        base = try reader.optional { reader throws(CodingError) in try PropertyValue(from: &reader)
        }
    }
}

/// The answer to a save: its position in the journal, and its outcome.
///
/// A retry with the same id gets the same answer again, except for ``isRepeat``.
package struct SaveAnswer: WireCodable {
    /// The position of the save; the durable tail if nothing was written.
    package var position: UInt64
    /// Whether the save was written; false if it had no net effect.
    package var wrote: Bool
    /// Whether a save with this id was already known.
    package var isRepeat: Bool
    /// The outcome of each insert of the request, in order.
    ///
    /// The outcome is the insert's own object, or the existing object that replaced it because of a
    /// uniqueness constraint. It is nil if the same save deleted the object.
    package var inserted: [ObjectReference?]

    /// Creates an answer with the given content.
    package init(
        position: UInt64, wrote: Bool, isRepeat: Bool = false, inserted: [ObjectReference?] = []
    ) {
        self.position = position
        self.wrote = wrote
        self.isRepeat = isRepeat
        self.inserted = inserted
    }

    /// Appends the binary form.
    package func encode(into writer: inout ByteWriter) {
        writer.uint64(position)
        writer.bool(wrote)
        writer.bool(isRepeat)
        writer.list(inserted) { writer, object in
            writer.optional(object) { $0.reference($1) }
        }
    }

    /// Reads the binary form or throws `CodingError`.
    package init(from reader: inout ByteReader) throws(CodingError) {
        position = try reader.uint64()
        wrote = try reader.bool()
        isRepeat = try reader.bool()
        inserted = try reader.list(itemBytes: 1) { reader throws(CodingError) in
            try reader.optional { reader throws(CodingError) in try reader.reference() }
        }
    }
}
