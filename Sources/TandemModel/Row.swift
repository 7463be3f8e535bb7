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
    public var modelVersion: UInt16 { fixed(at: 0, UInt16.self) }

    /// The entity of the object.
    public var tag: EntityTag { fixed(at: 2, UInt16.self) }

    /// True when the bytes are a row of the entity: long enough, ends in order, text in UTF-8.
    public func isValid(for entity: CompiledEntity) -> Bool {
        let layout = entity.layout
        return hasShape(of: entity) && layout.columns.allSatisfy { isValid($0, layout) }
    }

    /// True when every column lies within the bytes, so that reading one can't trap; what it says may still be nonsense.
    ///
    /// Cost: a look at the end of each variable column.
    public func hasShape(of entity: CompiledEntity) -> Bool {
        let layout = entity.layout
        guard bytes.count >= layout.minimumBytes, tag == entity.tag else { return false }
        var last = layout.minimumBytes
        for index in 0..<layout.variableCount {
            let end = end(index, layout)
            guard end >= last, end <= bytes.count else { return false }
            last = end
        }
        return last == bytes.count
    }

    private func isValid(_ column: RowLayout.Column?, _ layout: RowLayout) -> Bool {
        guard let column, !isNull(column) else { return true }
        switch column.storage {
        case .string where isBlob(column, layout):
            return TextReference(bytes: bytes[range(column, layout)]) != nil
        case .string, .url:
            return (try? UTF8Span(validating: bytes.span.extracting(range(column, layout)))) != nil
        case .decimal:
            return Decimal(string: String(decoding: bytes[range(column, layout)], as: UTF8.self))
                != nil
        case .data:
            return !isBlob(column, layout)
                || BlobReference(bytes: bytes[range(column, layout)]) != nil
        default: return true
        }
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
        case .bool: return .bool(bytes[column.place] != 0)
        case .int: return .int(fixed(at: column.place, Int64.self))
        case .double: return .double(Double(bitPattern: fixed(at: column.place, UInt64.self)))
        case .date: return .date(Double(bitPattern: fixed(at: column.place, UInt64.self)))
        case .uuid: return .uuid(UUID(bytes: Array(bytes[column.place..<(column.place + 16)])))
        case .reference: return .reference(reference(at: column.place))
        case .decimal: return Decimal(string: text(column, entity)).map { .decimal($0) } ?? .null
        case .string:
            return longText(slot, in: entity).map { .longText($0) } ?? .string(text(column, entity))
        case .url: return .url(text(column, entity))
        case .data:
            return blob(column, entity.layout).map { .blob($0) }
                ?? .data(Array(bytes[range(column, entity.layout)]))
        }
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
        entity.layout.longColumns.contains { isBlob($0, entity.layout) }
    }

    /// What stands for the text of a slot; nil where the row has the text itself, no text or no value.
    @inline(__always)
    public func longText(_ slot: Int, in entity: CompiledEntity) -> TextReference? {
        guard let column = entity.layout.columns[slot], column.storage == .string,
            isBlob(column, entity.layout)
        else { return nil }
        return TextReference(bytes: bytes[range(column, entity.layout)])
    }

    /// All values by slot; null for to-many relationships.
    public func values(in entity: CompiledEntity) -> [Value] {
        entity.properties.indices.map { value($0, in: entity) }
    }

    /// The object at the end of a to-one relationship, or nil.
    public func reference(_ slot: Int, in entity: CompiledEntity) -> ObjectReference? {
        guard let column = entity.layout.columns[slot], column.storage == .reference,
            !isNull(column)
        else { return nil }
        return reference(at: column.place)
    }

    /// Calls `body` with the bytes of a text or data column, or of what stands for it; nil when it has no value or another type.
    public func withBytes<Result>(
        _ slot: Int, in entity: CompiledEntity, _ body: (UnsafeRawBufferPointer) -> Result
    ) -> Result? {
        guard let column = entity.layout.columns[slot], column.storage.width == 0, !isNull(column)
        else { return nil }
        let range = range(column, entity.layout)
        return bytes.withUnsafeBytes { body(UnsafeRawBufferPointer(rebasing: $0[range])) }
    }

    /// True when both rows hold the same bytes in a slot.
    public func hasSameValue(as other: Row, _ slot: Int, in entity: CompiledEntity) -> Bool {
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
        let mine = extent(column, entity.layout)
        let theirs = other.extent(column, entity.layout)
        guard mine.count == theirs.count else { return false }
        return bytes.withUnsafeBytes { a in
            other.bytes.withUnsafeBytes { b in
                Row.isSame(
                    UnsafeRawBufferPointer(rebasing: a[mine]),
                    UnsafeRawBufferPointer(rebasing: b[theirs]))
            }
        }
    }

    /// Whether two runs of the same length have the same bytes, eight at a step.
    private static func isSame(_ a: UnsafeRawBufferPointer, _ b: UnsafeRawBufferPointer) -> Bool {
        var at = 0
        while at + 8 <= a.count {
            let (left, right) = (
                a.loadUnaligned(fromByteOffset: at, as: UInt64.self),
                b.loadUnaligned(fromByteOffset: at, as: UInt64.self)
            )
            if left != right { return false }
            at += 8
        }
        while at < a.count {
            if a[at] != b[at] { return false }
            at += 1
        }
        return true
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

    private func isNull(_ column: RowLayout.Column) -> Bool {
        bytes[RowLayout.headerBytes + column.nullBit >> 3] & (1 << UInt8(column.nullBit & 7)) != 0
    }

    private func fixed<T: FixedWidthInteger>(at offset: Int, _ type: T.Type) -> T {
        bytes.withUnsafeBytes {
            precondition(offset + MemoryLayout<T>.size <= $0.count, "The row is too short.")
            return T(littleEndian: $0.loadUnaligned(fromByteOffset: offset, as: T.self))
        }
    }

    private func reference(at offset: Int) -> ObjectReference {
        ObjectReference(
            tag: fixed(at: offset, UInt16.self), number: fixed(at: offset + 2, UInt64.self))
    }

    func range(_ column: RowLayout.Column, _ layout: RowLayout) -> Range<Int> {
        let start = column.place == 0 ? layout.minimumBytes : end(column.place - 1, layout)
        return start..<end(column.place, layout)
    }

    private func end(_ place: Int, _ layout: RowLayout) -> Int {
        let end = fixed(at: layout.endsOffset + 4 * place, UInt32.self)
        return Int(end & ~RowLayout.blobFlag)
    }

    func isBlob(_ column: RowLayout.Column, _ layout: RowLayout) -> Bool {
        guard column.storage.mayBeLong else { return false }
        let end = fixed(at: layout.endsOffset + 4 * column.place, UInt32.self)
        return end & RowLayout.blobFlag != 0
    }

    private func blob(_ column: RowLayout.Column, _ layout: RowLayout) -> BlobReference? {
        guard isBlob(column, layout) else { return nil }
        return BlobReference(bytes: bytes[range(column, layout)])
    }

    private func extent(_ column: RowLayout.Column, _ layout: RowLayout) -> Range<Int> {
        let width = column.storage.width
        return width > 0 ? column.place..<(column.place + width) : range(column, layout)
    }

    private func text(_ column: RowLayout.Column, _ entity: CompiledEntity) -> String {
        String(decoding: bytes[range(column, entity.layout)], as: UTF8.self)
    }
}
