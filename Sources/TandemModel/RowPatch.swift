/// A row whose fixed-width columns are overwritten in place.
///
///     var patch = RowPatch(row, version: model.version)
///     patch.set(.int(5), slot, in: entity)
///     let changed = patch.row
@usableFromInline package struct RowPatch: Hashable, Sendable {
    private var bytes: [UInt8]

    /// Creates a patch of a row under the given model version.
    ///
    /// Cost: copies the bytes, once for all values.
    package init(_ row: Row, version: UInt16) {
        bytes = row.bytes
        RowBuilder.store(version, &bytes, 0)
    }

    /// Overwrites the value of a slot.
    ///
    /// Traps if the column doesn't have a fixed width (``CompiledEntity/isFixed(_:)``), if the
    /// value has the wrong type, or if the row ends before the column.
    package mutating func set(_ value: PropertyValue, _ slot: Int, in entity: CompiledEntity) {
        precondition(entity.isFixed(slot), "Only a fixed-width column can be set in place.")
        RowBuilder.setFixed(value, slot, &bytes, entity)
    }

    /// The patched row.
    @usableFromInline package var row: Row { Row(bytes: bytes) }
}
