import FoundationEssentials

/// A view of a row's bytes in place: in a ``Row``, or in a page of the store.
///
/// A view is valid only during a call that borrows the bytes. Neither the view nor its bytes may
/// escape from the closure, because the next write to the store can reuse the page. Values are
/// copied when they are read. Every read is bounds-checked: reading beyond the end of a row
/// that was not checked (``hasShape(of:)``) traps.
@usableFromInline package struct RowView {
    /// The bytes, in the layout of ``RowLayout``.
    @usableFromInline package let bytes: UnsafeRawBufferPointer

    /// Creates a view of borrowed bytes.
    @inlinable
    package init(_ bytes: UnsafeRawBufferPointer) { self.bytes = bytes }

    /// The version of the model under which the row was written.
    package var modelVersion: UInt16 { fixed(at: 0, UInt16.self) }

    /// The entity of the object.
    @usableFromInline package var tag: EntityTag { fixed(at: 2, UInt16.self) }

    /// Returns whether every column is within the bytes, so that reading one can't trap.
    ///
    /// Values may still be invalid.
    package func hasShape(of entity: CompiledEntity) -> Bool { has(RowShape(of: entity)) }

    /// Returns the same result as ``hasShape(of:)``, but faster for many rows of one entity.
    package func has(_ shape: RowShape) -> Bool {
        guard bytes.count >= shape.minimumBytes, tag == shape.tag else { return false }
        var last = shape.minimumBytes
        for place in 0..<shape.variableCount {
            let end = end(place, from: shape.endsOffset)
            guard end >= last, end <= bytes.count else { return false }
            last = end
        }
        return last == bytes.count
    }

    // MARK: Columns

    /// Returns whether the value of a slot is null; always true for a to-many relationship.
    package func isNull(_ slot: Int, in entity: CompiledEntity) -> Bool {
        entity.layout.columns[slot].map(isNull) ?? true
    }

    /// Returns the value of a slot; null for a to-many relationship.
    package func value(_ slot: Int, in entity: CompiledEntity) -> PropertyValue {
        guard let column = entity.layout.columns[slot], !isNull(column) else { return .null }
        switch column.storage {
        case .bool: return .bool(fixed(at: column.place, UInt8.self) != 0)
        case .int: return .int(fixed(at: column.place, Int64.self))
        case .double: return .double(Double(bitPattern: fixed(at: column.place, UInt64.self)))
        case .date: return .date(Double(bitPattern: fixed(at: column.place, UInt64.self)))
        case .uuid: return .uuid(UUID(bytes: Array(slice(column.place..<(column.place + 16)))))
        case .reference: return .reference(reference(at: column.place))
        case .decimal: return Decimal(string: text(column, entity)).map { .decimal($0) } ?? .null
        case .string:
            return longText(slot, in: entity).map { .longText($0) } ?? .string(text(column, entity))
        case .url: return .url(text(column, entity))
        case .data:
            let content = slice(range(column, entity.layout))
            return blob(column, entity.layout).map { .blob($0) } ?? .data(Array(content))
        }
    }

    /// Returns the object at the end of a to-one relationship, or nil.
    package func reference(_ slot: Int, in entity: CompiledEntity) -> ObjectReference? {
        guard let column = entity.layout.columns[slot], column.storage == .reference,
            !isNull(column)
        else { return nil }
        return reference(at: column.place)
    }

    /// Returns the reference to the text of a slot; nil if the text is in the row, or if there is
    /// none.
    @inline(__always)
    package func longText(_ slot: Int, in entity: CompiledEntity) -> TextReference? {
        guard let column = entity.layout.columns[slot], column.storage == .string,
            isBlob(column, entity.layout)
        else { return nil }
        return TextReference(bytes: slice(range(column, entity.layout)))
    }

    /// Returns the bytes of a text or data column, or of the reference to its content.
    ///
    /// The result is nil if the column has no value or a different type.
    package func content(_ slot: Int, in entity: CompiledEntity) -> UnsafeRawBufferPointer? {
        guard let column = entity.layout.columns[slot], column.storage.width == 0, !isNull(column)
        else { return nil }
        return slice(range(column, entity.layout))
    }

    /// Returns whether both rows have the same bytes in a slot.
    package func hasSameValue(
        as other: RowView, _ slot: Int, in entity: CompiledEntity
    ) -> Bool {
        guard let column = entity.layout.columns[slot] else { return true }
        let isNull = isNull(column)
        guard isNull == other.isNull(column) else { return false }
        if isNull { return true }
        if column.storage.width == 8 {
            return fixed(at: column.place, UInt64.self)
                == other.fixed(at: column.place, UInt64.self)
        }
        guard isBlob(column, entity.layout) == other.isBlob(column, entity.layout) else {
            return false
        }
        let mine = slice(extent(column, entity.layout))
        return mine.hasSameBytes(as: other.slice(other.extent(column, entity.layout)))
    }

    // MARK: Bytes

    func isNull(_ column: RowLayout.Column) -> Bool {
        let byte = fixed(at: RowLayout.headerBytes + column.nullBit >> 3, UInt8.self)
        return byte & (1 << UInt8(column.nullBit & 7)) != 0
    }

    func isBlob(_ column: RowLayout.Column, _ layout: RowLayout) -> Bool {
        guard column.storage.mayBeLong else { return false }
        let end = fixed(at: layout.endsOffset + 4 * column.place, UInt32.self)
        return end & RowLayout.blobFlag != 0
    }

    func blob(_ column: RowLayout.Column, _ layout: RowLayout) -> BlobReference? {
        guard isBlob(column, layout) else { return nil }
        return BlobReference(bytes: slice(range(column, layout)))
    }

    /// Returns the range of a variable column.
    func range(_ column: RowLayout.Column, _ layout: RowLayout) -> Range<Int> {
        let start = column.place == 0 ? layout.minimumBytes : end(column.place - 1, layout)
        let end = end(column.place, layout)
        precondition(start <= end, "The row's columns are out of order.")
        return Range(uncheckedBounds: (start, end))
    }

    /// Returns the bytes in a range.
    @inline(__always)
    func slice(_ range: Range<Int>) -> UnsafeRawBufferPointer {
        precondition(
            range.lowerBound >= 0 && range.upperBound <= bytes.count, "The row is too short.")
        return UnsafeRawBufferPointer(rebasing: bytes[range])
    }

    private func extent(_ column: RowLayout.Column, _ layout: RowLayout) -> Range<Int> {
        let width = column.storage.width
        return width > 0 ? column.place..<(column.place + width) : range(column, layout)
    }

    private func end(_ place: Int, _ layout: RowLayout) -> Int {
        end(place, from: layout.endsOffset)
    }

    @inline(__always)
    private func end(_ place: Int, from endsOffset: Int) -> Int {
        let end = fixed(at: endsOffset + 4 * place, UInt32.self)
        return Int(end & ~RowLayout.blobFlag)
    }

    private func text(_ column: RowLayout.Column, _ entity: CompiledEntity) -> String {
        String(decoding: slice(range(column, entity.layout)), as: UTF8.self)
    }

    private func reference(at offset: Int) -> ObjectReference {
        ObjectReference(
            tag: fixed(at: offset, UInt16.self), number: fixed(at: offset + 2, UInt64.self))
    }

    @inlinable @inline(__always)
    func fixed<T: FixedWidthInteger>(at offset: Int, _ type: T.Type) -> T {
        precondition(
            offset >= 0 && offset + MemoryLayout<T>.size <= bytes.count, "The row is too short.")
        return T(littleEndian: bytes.loadUnaligned(fromByteOffset: offset, as: T.self))
    }
}

/// The shape of an entity's rows, for checking many rows quickly.
///
///     let shape = RowShape(of: entity)
///     for row in rows where !row.has(shape) { … }
package struct RowShape: Sendable {
    fileprivate let tag: EntityTag
    fileprivate let endsOffset: Int
    fileprivate let variableCount: Int

    /// Creates the shape of an entity's rows.
    package init(of entity: CompiledEntity) {
        tag = entity.tag
        endsOffset = entity.layout.endsOffset
        variableCount = entity.layout.variableCount
    }

    fileprivate var minimumBytes: Int { endsOffset + 4 * variableCount }
}

extension UnsafeRawBufferPointer {
    /// Returns whether both buffers have the same bytes, compared eight at a time.
    fileprivate func hasSameBytes(as other: UnsafeRawBufferPointer) -> Bool {
        guard count == other.count else { return false }
        var at = 0
        while at + 8 <= count {
            let (left, right) = (
                loadUnaligned(fromByteOffset: at, as: UInt64.self),
                other.loadUnaligned(fromByteOffset: at, as: UInt64.self)
            )
            if left != right { return false }
            at += 8
        }
        while at < count {
            if self[at] != other[at] { return false }
            at += 1
        }
        return true
    }
}
