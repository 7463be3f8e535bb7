/// A column of an entity's rows, located once and then read in many rows.
///
/// The content is read in place and not wrapped in a ``PropertyValue``:
///
///     guard let wins = entity.column(slot) else { return }
///     for row in rows { sum += row.withView { $0.int(wins) ?? 0 } }
@usableFromInline package struct RowColumn: Sendable, BitwiseCopyable {
    @usableFromInline let storage: RowLayout.Storage
    /// The bit of the column in its byte of the null bitmap.
    @usableFromInline let nullMask: UInt8
    /// The offset of the byte with that bit.
    @usableFromInline let nullOffset: Int32
    /// The offset of a fixed-width column; for a variable column, the offset of its end.
    @usableFromInline let offset: Int32
    /// The start of the first variable column; 0 for all others, which start at the end of the
    /// previous column.
    @usableFromInline let begin: Int32

    init(_ column: RowLayout.Column, _ layout: RowLayout) {
        storage = column.storage
        nullMask = 1 << UInt8(column.nullBit & 7)
        nullOffset = Int32(RowLayout.headerBytes + column.nullBit >> 3)
        let isFixed = column.storage.width > 0
        offset = Int32(isFixed ? column.place : layout.endsOffset + 4 * column.place)
        begin = Int32(isFixed || column.place > 0 ? 0 : layout.minimumBytes)
    }
}

extension CompiledEntity {
    /// Returns the column of a slot; nil for a to-many relationship.
    package func column(_ slot: Int) -> RowColumn? {
        layout.columns[slot].map { RowColumn($0, layout) }
    }
}

extension RowView {
    /// Returns whether the value of a column is null.
    @inlinable @inline(__always)
    package func isNull(_ column: RowColumn) -> Bool {
        fixed(at: Int(column.nullOffset), UInt8.self) & column.nullMask != 0
    }

    /// Returns the value of a Boolean column; nil if it is null.
    @inlinable @inline(__always)
    package func bool(_ column: RowColumn) -> Bool? {
        guard has(.bool, column) else { return nil }
        return fixed(at: Int(column.offset), UInt8.self) != 0
    }

    /// Returns the value of an integer column; nil if it is null.
    @inlinable @inline(__always)
    package func int(_ column: RowColumn) -> Int64? {
        guard has(.int, column) else { return nil }
        return fixed(at: Int(column.offset), Int64.self)
    }

    /// Returns the value of a double column; nil if it is null.
    @inlinable @inline(__always)
    package func double(_ column: RowColumn) -> Double? {
        guard has(.double, column) else { return nil }
        return Double(bitPattern: fixed(at: Int(column.offset), UInt64.self))
    }

    /// Returns the value of a date column in seconds since 1970; nil if it is null.
    @inlinable @inline(__always)
    package func date(_ column: RowColumn) -> Double? {
        guard has(.date, column) else { return nil }
        return Double(bitPattern: fixed(at: Int(column.offset), UInt64.self))
    }

    /// Returns the object at the end of a to-one relationship; nil if there is none.
    @inlinable @inline(__always)
    package func reference(_ column: RowColumn) -> ObjectReference? {
        guard has(.reference, column) else { return nil }
        return ObjectReference(
            tag: fixed(at: Int(column.offset), UInt16.self),
            number: fixed(at: Int(column.offset) + 2, UInt64.self))
    }

    /// Returns the value of a text column; nil if it is null or stored outside the row.
    @inlinable @inline(__always)
    package func text(_ column: RowColumn) -> String? {
        guard has(.string, column) else { return nil }
        let end = fixed(at: Int(column.offset), UInt32.self)
        guard end & RowLayout.blobFlag == 0 else { return nil }
        // Bit 31 is the flag of the previous column, which may contain a reference.
        let start =
            column.begin > 0
            ? UInt32(column.begin)
            : fixed(at: Int(column.offset) - 4, UInt32.self) & ~RowLayout.blobFlag
        precondition(start <= end && Int(end) <= bytes.count, "The row is too short.")
        let content = Range(uncheckedBounds: (Int(start), Int(end)))
        return String(decoding: UnsafeRawBufferPointer(rebasing: bytes[content]), as: UTF8.self)
    }

    @inlinable @inline(__always)
    func has(_ storage: RowLayout.Storage, _ column: RowColumn) -> Bool {
        column.storage == storage && !isNull(column)
    }
}
