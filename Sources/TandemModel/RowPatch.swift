/// A row into whose columns of fixed width values are written in place.
///
///     var patch = RowPatch(row, version: model.version)
///     patch.set(.int(5), slot, in: entity)
///     let changed = patch.row
public struct RowPatch: Hashable, Sendable {
    private var bytes: [UInt8]

    /// The row as it is, under a version of the model.
    ///
    /// Cost: the bytes are copied, once for all values.
    public init(_ row: Row, version: UInt16) {
        bytes = row.bytes
        RowBuilder.store(version, &bytes, 0)
    }

    /// Writes a value over that of a slot.
    ///
    /// A slot that is not of fixed width (``CompiledEntity/isFixed(_:)``) traps, a value that is not of its type, and a
    /// row that ends before the column.
    public mutating func set(_ value: Value, _ slot: Int, in entity: CompiledEntity) {
        precondition(entity.isFixed(slot), "Only a column of fixed width can be set in place.")
        RowBuilder.setFixed(value, slot, &bytes, entity)
    }

    /// The row as it is now.
    public var row: Row { Row(bytes: bytes) }
}
