/// The effect of a transaction on one object.
///
/// A change contains everything needed to merge, show or undo it, and to evaluate a predicate on
/// the object's own values before and after the transaction.
@usableFromInline package struct Change: Hashable, Sendable {
    /// The kind of a change.
    @usableFromInline package enum Kind: UInt8, Hashable, Sendable {
        /// The object is new.
        case insert
        /// Attributes or to-one relationships changed, possibly also links.
        case update
        /// The object was deleted.
        case delete
        /// Only to-many relationships changed, through changes of the objects at their other ends;
        /// the row is unchanged.
        case touch
    }

    /// The kind of the change.
    @usableFromInline package var kind: Kind
    /// The object.
    @usableFromInline package var object: ObjectReference
    /// The properties that changed; for an insert or delete, those with a value or links.
    @usableFromInline package var changed: PropertyMask
    /// The whole row after an insert or update.
    @usableFromInline package var row: Row?
    /// The whole row before a delete.
    @usableFromInline package var deleted: Row?
    /// The values, by slot, of the changed columns before an update.
    @usableFromInline package var before: [SlotValue]
    /// The members that to-many relationships gained and lost, by slot, then number.
    ///
    /// A member that was moved in an ordered relationship is removed at its old rank, then added at
    /// its new one.
    @usableFromInline package var links: [LinkChange]

    /// Creates a change.
    @inlinable
    package init(
        _ kind: Kind, _ object: ObjectReference, changed: PropertyMask, row: Row? = nil,
        deleted: Row? = nil, before: [SlotValue] = [], links: [LinkChange] = []
    ) {
        self.kind = kind
        self.object = object
        self.changed = changed
        self.row = row
        self.deleted = deleted
        self.before = before
        self.links = links
    }

    /// Returns the row before an update or delete; nil for an insert or a touch.
    package func rowBefore(in entity: CompiledEntity) -> Row? {
        switch kind {
        case .insert, .touch: nil
        case .delete: deleted
        case .update: row?.replacing(before.map { ($0.slot, $0.value) }, in: entity)
        }
    }
}

extension Change {
    /// Appends the change without its entity, which is that of the chunk.
    func encode(into writer: inout ByteWriter) {
        writer.uint8(kind.rawValue)
        writer.uint64(object.number)
        writer.varint(changed.low)
        writer.varint(changed.high)
        if let row = row ?? deleted { writer.blob(row.bytes) }
        if kind == .update {
            writer.count(before.count)
            for item in before {
                writer.count(item.slot)
                item.value.encode(into: &writer)
            }
        }
        writer.count(links.count)
        for link in links { link.encode(into: &writer) }
    }

    init(tag: EntityTag, from reader: inout ByteReader) throws(CodingError) {
        let start = reader.offset
        guard let kind = Kind(rawValue: try reader.uint8()) else {
            throw CodingError(expected: "a kind of change", offset: start)
        }
        let object = ObjectReference(tag: tag, number: try reader.uint64())
        let changed = PropertyMask(low: try reader.varint(), high: try reader.varint())
        self.init(kind, object, changed: changed)
        switch kind {
        case .insert, .update: row = Row(bytes: try reader.blob())
        case .delete: deleted = Row(bytes: try reader.blob())
        case .touch: break
        }
        if kind == .update { before = try Change.before(from: &reader) }
        for _ in 0..<(try reader.count(itemBytes: LinkChange.minimumBytes)) {
            links.append(try LinkChange(from: &reader))
        }
    }

    private static func before(from reader: inout ByteReader) throws(CodingError) -> [SlotValue] {
        var values: [SlotValue] = []
        for _ in 0..<(try reader.count(itemBytes: 2)) {
            let slot = try slot(from: &reader)
            values.append(SlotValue(slot: slot, value: try PropertyValue(from: &reader)))
        }
        return values
    }

    static func slot(from reader: inout ByteReader) throws(CodingError) -> Int {
        let start = reader.offset
        let slot = try reader.varint()
        guard slot < PropertyMask.capacity else {
            throw CodingError(expected: "the slot of a property", offset: start)
        }
        return Int(slot)
    }

    /// Returns whether any value before or after an update is stored outside the row.
    package func hasBlobs(in entity: CompiledEntity) -> Bool {
        row?.hasBlobs(in: entity) ?? false || before.contains { $0.value.isOutside }
    }

    /// Returns whether a decoded change fits the entity.
    package func isValid(for entity: CompiledEntity) -> Bool {
        let count = entity.properties.count
        guard entity.tag == object.tag, changed.isWithin(count),
            row?.isValid(for: entity) ?? true, deleted?.isValid(for: entity) ?? true
        else { return false }
        return before.allSatisfy { $0.slot < count && entity.properties[$0.slot].accepts($0.value) }
            && links.allSatisfy { $0.slot < count && $0.isValid(for: entity.properties[$0.slot]) }
    }
}
