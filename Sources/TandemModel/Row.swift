import FoundationEssentials

/// One object's attributes and to-one relationships as one immutable byte string.
///
/// The same bytes lie in LMDB, travel on the wire and back the client's objects. A column is read in place; nothing is
/// decoded up front. Reading needs the object's ``CompiledEntity`` of the model that the row was written under: every installed model
/// has a version of its own, and the journal keeps rows as they were written. ``value(_:in:)`` checks it.
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
    package func isNull(_ slot: Int, in entity: CompiledEntity) -> Bool {
        withView { $0.isNull(slot, in: entity) }
    }

    /// The value of a slot; null for a to-many relationship.
    ///
    /// Throws `schemaMismatch` if the row was written under another version of the model than the entity's, `usage` for a row of
    /// another entity or a slot that the entity does not have, and `storage` for bytes that are no row of the entity. The models of a
    /// journal are in its `model` transactions (``ModelInstallation``): rows fit the last one before them.
    public func value(_ slot: Int, in entity: CompiledEntity) throws(TandemError) -> Value {
        guard entity.properties.indices.contains(slot) else {
            throw TandemError(.usage, "\(entity.name) has no slot \(slot)")
        }
        try checkReadable(as: entity, entity.properties[slot].name)
        return uncheckedValue(slot, in: entity)
    }

    /// The value of a slot of a row that is known to be of the entity, under the same version of the model.
    ///
    /// Another row traps or gives values that it does not have.
    package func uncheckedValue(_ slot: Int, in entity: CompiledEntity) -> Value {
        withView { $0.value(slot, in: entity) }
    }

    private func checkReadable(
        as entity: CompiledEntity, _ property: String
    ) throws(TandemError) {
        let name = "\(entity.name).\(property)"
        guard bytes.count >= RowLayout.headerBytes else {
            throw TandemError(.storage, "\(name) can't be read: \(bytes.count) bytes are no row")
        }
        guard modelVersion == entity.version else {
            throw TandemError(
                .schemaMismatch,
                "\(name) can't be read: the row was written under version \(modelVersion) of the model, and "
                    + "the entity is of version \(entity.version); use the entity of version "
                    + "\(modelVersion), which a model transaction before the row installed")
        }
        guard tag == entity.tag else {
            throw TandemError(
                .usage,
                "\(name) can't be read: the row is of the entity with the tag \(tag), not \(entity.tag)"
            )
        }
        guard hasShape(of: entity) else {
            throw TandemError(.storage, "\(name) can't be read: the row's bytes are damaged")
        }
    }

    /// The blobs that data and text columns stand for, in the order of the slots.
    ///
    /// Cost: a look at each such column.
    package func blobs(in entity: CompiledEntity) -> [BlobReference] {
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
    package func hasBlobs(in entity: CompiledEntity) -> Bool {
        withView { view in
            entity.layout.longColumns.contains { view.isBlob($0, entity.layout) }
        }
    }

    /// What stands for the text of a slot; nil where the row has the text itself, no text or no value.
    package func longText(_ slot: Int, in entity: CompiledEntity) -> TextReference? {
        withView { $0.longText(slot, in: entity) }
    }

    /// All values by slot; null for to-many relationships.
    package func values(in entity: CompiledEntity) -> [Value] {
        withView { view in entity.properties.indices.map { view.value($0, in: entity) } }
    }

    /// The object at the end of a to-one relationship, or nil.
    package func reference(_ slot: Int, in entity: CompiledEntity) -> ObjectReference? {
        withView { $0.reference(slot, in: entity) }
    }

    /// Calls `body` with the bytes of a text or data column, or of what stands for it; nil when it has no value or another type.
    package func withBytes<Result>(
        _ slot: Int, in entity: CompiledEntity, _ body: (UnsafeRawBufferPointer) -> Result
    ) -> Result? {
        withView { $0.content(slot, in: entity).map(body) }
    }

    /// True when both rows hold the same bytes in a slot.
    package func hasSameValue(as other: Row, _ slot: Int, in entity: CompiledEntity) -> Bool {
        withView { mine in
            other.withView { mine.hasSameValue(as: $0, slot, in: entity) }
        }
    }

    /// The slots in which two rows of one entity differ.
    package func difference(from other: Row, in entity: CompiledEntity) -> PropertyMask {
        PropertyMask(entity.properties.indices.filter { !hasSameValue(as: other, $0, in: entity) })
    }

    /// The same row with other values in some slots.
    package func replacing(_ changes: [(slot: Int, value: Value)], in entity: CompiledEntity) -> Row
    {
        let changes = changes.map { SlotValue(slot: $0.slot, value: $0.value) }
        return replacing(changes, in: entity, version: modelVersion)
    }

    /// The same row with other values in some slots, as it is written under a version of the model.
    ///
    /// Cost: the bytes are copied; the other values are not decoded.
    package func replacing(
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
