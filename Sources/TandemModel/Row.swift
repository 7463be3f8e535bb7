import FoundationEssentials

/// An object's attributes and to-one relationships as one immutable byte string.
///
/// The same bytes are stored in LMDB, sent to clients and used by their objects. Columns are read
/// in place; nothing is decoded in advance. Reading requires the ``CompiledEntity`` of the model
/// under which the row was written (``modelVersion``). Every installed model has its own version,
/// and the journal keeps rows as they were written.
@usableFromInline package struct Row: Hashable, Sendable {
    /// The bytes, in the layout of ``RowLayout``.
    @usableFromInline package let bytes: [UInt8]

    /// Creates a row from its bytes; check bytes from outside the process with ``isValid(for:)``.
    @inlinable
    package init(bytes: [UInt8]) { self.bytes = bytes }

    /// Creates a row from one value for each slot of the entity; the values of to-many slots are
    /// ignored.
    ///
    /// Traps for a value of the wrong type; check values from outside with
    /// ``CompiledProperty/accepts(_:)``.
    package init(_ values: [PropertyValue], of entity: CompiledEntity, version: UInt16) {
        bytes = RowBuilder.build(values, entity, version)
    }

    /// The version of the model under which the row was written.
    package var modelVersion: UInt16 { withView { $0.modelVersion } }

    /// The entity of the object.
    @usableFromInline package var tag: EntityTag { withView { $0.tag } }

    /// Calls `body` with a borrowed view of the row, which must not escape from `body`.
    @inlinable @inline(__always)
    package func withView<Result>(_ body: (RowView) -> Result) -> Result {
        bytes.withUnsafeBytes { body(RowView($0)) }
    }

    /// Returns whether the bytes are a row of the entity: long enough, with columns in order and
    /// texts in UTF-8.
    package func isValid(for entity: CompiledEntity) -> Bool {
        withView { $0.isValid(for: entity) }
    }

    /// Returns whether every column is within the bytes, so that reading one can't trap.
    ///
    /// Values may still be invalid. Cost: reads the end of each variable column.
    package func hasShape(of entity: CompiledEntity) -> Bool {
        withView { $0.hasShape(of: entity) }
    }

    // MARK: Columns

    /// Returns whether the value of a slot is null; always true for a to-many relationship.
    package func isNull(_ slot: Int, in entity: CompiledEntity) -> Bool {
        withView { $0.isNull(slot, in: entity) }
    }

    /// Returns the value of a slot, without checking that the row has the entity and its model
    /// version.
    ///
    /// For any other row, the method traps or returns a wrong value.
    package func uncheckedValue(_ slot: Int, in entity: CompiledEntity) -> PropertyValue {
        withView { $0.value(slot, in: entity) }
    }

    /// Returns the blobs that data and text columns refer to, in slot order.
    ///
    /// Cost: reads the end of each such column.
    package func blobs(in entity: CompiledEntity) -> [BlobReference] {
        guard hasBlobs(in: entity) else { return [] }
        return entity.layout.longColumns.compactMap { column in
            guard isBlob(column, entity.layout) else { return nil }
            let content = bytes[range(column, entity.layout)]
            return column.storage == .string
                ? TextReference(bytes: content)?.blob : BlobReference(bytes: content)
        }
    }

    /// Returns whether the content of any value is stored outside the row.
    ///
    /// Cost: reads the end of each data and text column.
    package func hasBlobs(in entity: CompiledEntity) -> Bool {
        withView { view in
            entity.layout.longColumns.contains { view.isBlob($0, entity.layout) }
        }
    }

    /// Returns the reference to the text of a slot; nil if the text is in the row, or if there is
    /// none.
    package func longText(_ slot: Int, in entity: CompiledEntity) -> TextReference? {
        withView { $0.longText(slot, in: entity) }
    }

    /// Returns all values by slot; null for to-many relationships.
    package func values(in entity: CompiledEntity) -> [PropertyValue] {
        withView { view in entity.properties.indices.map { view.value($0, in: entity) } }
    }

    /// Returns the object at the end of a to-one relationship, or nil.
    package func reference(_ slot: Int, in entity: CompiledEntity) -> ObjectReference? {
        withView { $0.reference(slot, in: entity) }
    }

    /// Calls `body` with the bytes of a text or data column, or of the reference to its content.
    ///
    /// Returns nil if the column has no value or a different type.
    package func withBytes<Result>(
        _ slot: Int, in entity: CompiledEntity, _ body: (UnsafeRawBufferPointer) -> Result
    ) -> Result? {
        withView { $0.content(slot, in: entity).map(body) }
    }

    /// Returns whether both rows have the same bytes in a slot.
    package func hasSameValue(as other: Row, _ slot: Int, in entity: CompiledEntity) -> Bool {
        withView { mine in
            other.withView { mine.hasSameValue(as: $0, slot, in: entity) }
        }
    }

    /// Returns the slots in which two rows of one entity differ.
    package func difference(from other: Row, in entity: CompiledEntity) -> PropertyMask {
        PropertyMask(entity.properties.indices.filter { !hasSameValue(as: other, $0, in: entity) })
    }

    /// Returns the row with new values in some slots.
    package func replacing(
        _ changes: [(slot: Int, value: PropertyValue)], in entity: CompiledEntity
    ) -> Row {
        let changes = changes.map { SlotValue(slot: $0.slot, value: $0.value) }
        return replacing(changes, in: entity, version: modelVersion)
    }

    /// Returns the row with new values in some slots, under the given model version.
    ///
    /// Cost: copies the bytes; unchanged values are not decoded.
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
