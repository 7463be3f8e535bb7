import FoundationEssentials

/// A row read where its bytes lie: in a ``Row``, or in a page of the store.
///
/// Whoever has the bytes lends a view to a closure, and what is read is copied: neither view nor bytes may leave the closure, as the
/// next write to the store may take the page. Every read is held to the bytes, so that a row that was not checked
/// (``hasShape(of:)``) traps where it would read beyond them.
public struct RowView {
    /// The bytes; their layout is ``RowLayout``'s.
    public let bytes: UnsafeRawBufferPointer

    /// Takes bytes as a row for as long as they are lent.
    @inlinable
    public init(_ bytes: UnsafeRawBufferPointer) { self.bytes = bytes }

    /// The version of the model that the row was written under.
    public var modelVersion: UInt16 { fixed(at: 0, UInt16.self) }

    /// The entity of the object.
    public var tag: EntityTag { fixed(at: 2, UInt16.self) }

    /// True when every column lies within the bytes, so that reading one can't trap; what it says may still be nonsense.
    public func hasShape(of entity: CompiledEntity) -> Bool { has(RowShape(of: entity)) }

    /// The same by the shape, for who checks many rows of one entity.
    public func has(_ shape: RowShape) -> Bool {
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

    /// True when the slot holds no value; always true for a to-many relationship.
    public func isNull(_ slot: Int, in entity: CompiledEntity) -> Bool {
        entity.layout.columns[slot].map(isNull) ?? true
    }

    /// The value of a slot; null for a to-many relationship.
    public func value(_ slot: Int, in entity: CompiledEntity) -> Value {
        guard let column = entity.layout.columns[slot], !isNull(column) else { return .null }
        switch column.storage {
        case .bool: return .bool(fixed(at: column.place, UInt8.self) != 0)
        case .int: return .int(fixed(at: column.place, Int64.self))
        case .double: return .double(Double(bitPattern: fixed(at: column.place, UInt64.self)))
        case .date: return .date(Double(bitPattern: fixed(at: column.place, UInt64.self)))
        case .uuid: return .uuid(UUID(bytes: Array(part(column.place..<(column.place + 16)))))
        case .reference: return .reference(reference(at: column.place))
        case .decimal: return Decimal(string: text(column, entity)).map { .decimal($0) } ?? .null
        case .string:
            return longText(slot, in: entity).map { .longText($0) } ?? .string(text(column, entity))
        case .url: return .url(text(column, entity))
        case .data:
            let content = part(range(column, entity.layout))
            return blob(column, entity.layout).map { .blob($0) } ?? .data(Array(content))
        }
    }

    /// The object at the end of a to-one relationship, or nil.
    public func reference(_ slot: Int, in entity: CompiledEntity) -> ObjectReference? {
        guard let column = entity.layout.columns[slot], column.storage == .reference,
            !isNull(column)
        else { return nil }
        return reference(at: column.place)
    }

    /// What stands for the text of a slot; nil where the row has the text itself, no text or no value.
    @inline(__always)
    public func longText(_ slot: Int, in entity: CompiledEntity) -> TextReference? {
        guard let column = entity.layout.columns[slot], column.storage == .string,
            isBlob(column, entity.layout)
        else { return nil }
        return TextReference(bytes: part(range(column, entity.layout)))
    }

    /// The bytes of a text or data column, or of what stands for it; nil when it has no value or another type.
    public func content(_ slot: Int, in entity: CompiledEntity) -> UnsafeRawBufferPointer? {
        guard let column = entity.layout.columns[slot], column.storage.width == 0, !isNull(column)
        else { return nil }
        return part(range(column, entity.layout))
    }

    /// True when both rows hold the same bytes in a slot.
    public func hasSameValue(
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
        let mine = part(extent(column, entity.layout))
        return mine.hasSameBytes(as: other.part(other.extent(column, entity.layout)))
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
        return BlobReference(bytes: part(range(column, layout)))
    }

    /// Where a variable column lies.
    func range(_ column: RowLayout.Column, _ layout: RowLayout) -> Range<Int> {
        let start = column.place == 0 ? layout.minimumBytes : end(column.place - 1, layout)
        let end = end(column.place, layout)
        precondition(start <= end, "The row's columns are out of order.")
        return Range(uncheckedBounds: (start, end))
    }

    /// Some of the bytes.
    @inline(__always)
    func part(_ range: Range<Int>) -> UnsafeRawBufferPointer {
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
        String(decoding: part(range(column, entity.layout)), as: UTF8.self)
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

/// What all rows of an entity have in common, as nothing but numbers: to check row after row without going through the entity.
///
///     let shape = RowShape(of: entity)
///     for row in rows where !row.has(shape) { … }
public struct RowShape: Sendable {
    fileprivate let tag: EntityTag
    fileprivate let endsOffset: Int
    fileprivate let variableCount: Int

    /// The shape of an entity's rows.
    public init(of entity: CompiledEntity) {
        tag = entity.tag
        endsOffset = entity.layout.endsOffset
        variableCount = entity.layout.variableCount
    }

    fileprivate var minimumBytes: Int { endsOffset + 4 * variableCount }
}

extension UnsafeRawBufferPointer {
    /// Whether both have the same bytes, compared eight at a step.
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
