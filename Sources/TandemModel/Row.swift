import FoundationEssentials

/// One object's attributes and to-one relationships as one immutable byte string.
///
/// The same bytes lie in LMDB, travel on the wire and back the client's objects. A column is read in place; nothing is
/// decoded up front. Reading needs the object's ``CompiledEntity``; ``isValid(for:)`` is the
/// check for bytes that come from outside, the readers trust it.
public struct Row: Hashable, Sendable {
    /// The bytes; their layout is ``RowLayout``'s.
    public let bytes: [UInt8]

    /// Takes bytes as a row; check them with ``isValid(for:)`` if they come from outside.
    @inlinable
    public init(bytes: [UInt8]) { self.bytes = bytes }

    /// A row with the given values, one for each slot of the entity; those of to-many slots are ignored.
    ///
    /// A value that is not of its column's type traps: check what comes from outside with
    /// ``CompiledProperty/accepts(_:)``.
    public init(_ values: [Value], of entity: CompiledEntity, version: UInt16) {
        bytes = RowBuilder.build(values, entity, version)
    }

    /// The version of the model that the row was written under.
    public var modelVersion: UInt16 { withView { $0.modelVersion } }

    /// The entity of the object.
    public var tag: EntityTag { withView { $0.tag } }

    /// Lends the row to be read where it lies; nothing of the view may leave `body`.
    @inlinable @inline(__always)
    public func withView<Result>(_ body: (RowView) -> Result) -> Result {
        bytes.withUnsafeBytes { body(RowView($0)) }
    }

    /// True when the bytes are a row of the entity: long enough, ends in order, text in UTF-8.
    public func isValid(for entity: CompiledEntity) -> Bool {
        withView { $0.isValid(for: entity) }
    }

    /// True when every column lies within the bytes, so that reading one can't trap; what it says may still be nonsense.
    ///
    /// Cost: a look at the end of each variable column.
    public func hasShape(of entity: CompiledEntity) -> Bool { withView { $0.hasShape(of: entity) } }

    // MARK: Columns

    /// True when the slot holds no value; always true for a to-many relationship.
    public func isNull(_ slot: Int, in entity: CompiledEntity) -> Bool {
        withView { $0.isNull(slot, in: entity) }
    }

    /// The value of a slot; null for a to-many relationship.
    public func value(_ slot: Int, in entity: CompiledEntity) -> Value {
        withView { $0.value(slot, in: entity) }
    }

    /// The blobs that data and text columns stand for, in the order of the slots.
    ///
    /// Cost: a look at each such column.
    public func blobs(in entity: CompiledEntity) -> [BlobReference] {
        guard hasBlobs(in: entity) else { return [] }
        return entity.layout.longColumns.compactMap { column in
            guard isBlob(column, entity.layout) else { return nil }
            let content = bytes[range(column, entity.layout)]
            return column.storage == .string
                ? TextReference(bytes: content)?.blob : BlobReference(bytes: content)
        }
    }

    /// Whether the content of any value lies outside the row.
    ///
    /// Cost: a look at each data and text column.
    public func hasBlobs(in entity: CompiledEntity) -> Bool {
        withView { view in
            entity.layout.longColumns.contains { view.isBlob($0, entity.layout) }
        }
    }

    /// What stands for the text of a slot; nil where the row has the text itself, no text or no value.
    public func longText(_ slot: Int, in entity: CompiledEntity) -> TextReference? {
        withView { $0.longText(slot, in: entity) }
    }

    /// All values by slot; null for to-many relationships.
    public func values(in entity: CompiledEntity) -> [Value] {
        withView { view in entity.properties.indices.map { view.value($0, in: entity) } }
    }

    /// The object at the end of a to-one relationship, or nil.
    public func reference(_ slot: Int, in entity: CompiledEntity) -> ObjectReference? {
        withView { $0.reference(slot, in: entity) }
    }

    /// Calls `body` with the bytes of a text or data column, or of what stands for it; nil when it has no value or another type.
    public func withBytes<Result>(
        _ slot: Int, in entity: CompiledEntity, _ body: (UnsafeRawBufferPointer) -> Result
    ) -> Result? {
        withView { $0.content(slot, in: entity).map(body) }
    }

    /// True when both rows hold the same bytes in a slot.
    public func hasSameValue(as other: Row, _ slot: Int, in entity: CompiledEntity) -> Bool {
        withView { mine in
            other.withView { mine.hasSameValue(as: $0, slot, in: entity) }
        }
    }

    /// The slots in which two rows of one entity differ.
    public func difference(from other: Row, in entity: CompiledEntity) -> PropertyMask {
        PropertyMask(entity.properties.indices.filter { !hasSameValue(as: other, $0, in: entity) })
    }

    /// The same row with other values in some slots.
    public func replacing(_ changes: [(slot: Int, value: Value)], in entity: CompiledEntity) -> Row
    {
        let changes = changes.map { SlotValue(slot: $0.slot, value: $0.value) }
        return replacing(changes, in: entity, version: modelVersion)
    }

    /// The same row with other values in some slots, as it is written under a version of the model.
    ///
    /// Cost: the bytes are copied; the other values are not decoded.
    public func replacing(
        _ changes: [SlotValue], in entity: CompiledEntity, version: UInt16
    ) -> Row {
        Row(bytes: RowBuilder.replace(changes, in: self, entity, version))
    }

    // MARK: Bytes

    func range(_ column: RowLayout.Column, _ layout: RowLayout) -> Range<Int> {
        withView { $0.range(column, layout) }
    }

    func isBlob(_ column: RowLayout.Column, _ layout: RowLayout) -> Bool {
        withView { $0.isBlob(column, layout) }
    }
}
