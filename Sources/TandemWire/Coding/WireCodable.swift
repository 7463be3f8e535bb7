package import TandemModel
public import TandemQuery

/// A component of a message with a unique binary form.
package protocol WireCodable: Hashable, Sendable {
    /// Appends the binary form.
    func encode(into writer: inout ByteWriter)

    /// Reads the binary form; throws `CodingError` at the first invalid byte.
    init(from reader: inout ByteReader) throws(CodingError)
}

extension FetchDescriptor: WireCodable {}

// MARK: Writing

extension ByteWriter {
    mutating func list<Item>(_ items: [Item], _ write: (inout ByteWriter, Item) -> Void) {
        count(items.count)
        for item in items { write(&self, item) }
    }

    mutating func list(_ items: [some WireCodable]) {
        count(items.count)
        for item in items { item.encode(into: &self) }
    }

    mutating func optional<Item>(_ item: Item?, _ write: (inout ByteWriter, Item) -> Void) {
        bool(item != nil)
        if let item { write(&self, item) }
    }

    mutating func reference(_ value: ObjectReference) {
        uint16(value.tag)
        uint64(value.number)
    }

    mutating func references(_ values: [ObjectReference]) { list(values) { $0.reference($1) } }

    mutating func names(_ values: [String]) { list(values) { $0.string($1) } }

    mutating func tags(_ values: [EntityTag]) { list(values) { $0.uint16($1) } }

    mutating func row(_ value: Row) { blob(value.bytes) }

    mutating func slotValue(_ item: SlotValue) {
        count(item.slot)
        item.value.encode(into: &self)
    }

    mutating func link(_ link: LinkChange) { link.encode(into: &self) }
}

// MARK: Reading

extension ByteReader {
    /// Reads a count and that many items of at least `itemBytes` bytes each; throws if there are
    /// more than `limit`.
    ///
    /// Memory grows only with the items actually read, whatever the count claims.
    mutating func list<Item>(
        itemBytes: Int, limit: Int = .max,
        _ read: (inout ByteReader) throws(CodingError) -> Item
    ) throws(CodingError) -> [Item] {
        let start = offset
        let count = try count(itemBytes: itemBytes)
        guard count <= limit else {
            throw CodingError(expected: "at most \(limit) items", offset: start)
        }
        var items: [Item] = []
        if count == 0 { return items }
        items.reserveCapacity(min(count, 4_096))
        for _ in 0..<count { items.append(try read(&self)) }
        return items
    }

    mutating func list<Item: WireCodable>(
        of type: Item.Type, itemBytes: Int, limit: Int = .max
    ) throws(CodingError) -> [Item] {
        try list(itemBytes: itemBytes, limit: limit) { reader throws(CodingError) in
            try Item(from: &reader)
        }
    }

    mutating func optional<Item>(
        _ read: (inout ByteReader) throws(CodingError) -> Item
    ) throws(CodingError) -> Item? {
        try bool() ? try read(&self) : nil
    }

    mutating func optionalString() throws(CodingError) -> String? {
        try optional { reader throws(CodingError) in try reader.string() }
    }

    mutating func optionalBlob() throws(CodingError) -> [UInt8]? {
        try optional { reader throws(CodingError) in try reader.blob() }
    }

    mutating func optionalRow() throws(CodingError) -> Row? {
        try optionalBlob().map(Row.init(bytes:))
    }

    mutating func reference() throws(CodingError) -> ObjectReference {
        let tag = try uint16()
        return ObjectReference(tag: tag, number: try uint64())
    }

    mutating func references(limit: Int = .max) throws(CodingError) -> [ObjectReference] {
        try list(itemBytes: 10, limit: limit) { reader throws(CodingError) in
            try reader.reference()
        }
    }

    mutating func names(limit: Int = WireLimits.names) throws(CodingError) -> [String] {
        try list(itemBytes: 1, limit: limit) { reader throws(CodingError) in try reader.string() }
    }

    mutating func tags() throws(CodingError) -> [EntityTag] {
        try list(itemBytes: 2, limit: 1 << 16) { reader throws(CodingError) in
            try reader.uint16()
        }
    }

    mutating func slot() throws(CodingError) -> Int {
        let start = offset
        let slot = try varint()
        guard slot < UInt64(PropertyMask.capacity) else {
            throw CodingError(expected: "the slot of a property", offset: start)
        }
        return Int(slot)
    }

    mutating func slotValue() throws(CodingError) -> SlotValue {
        let slot = try slot()
        return SlotValue(slot: slot, value: try PropertyValue(from: &self))
    }

    mutating func links() throws(CodingError) -> [LinkChange] {
        try list(itemBytes: LinkChange.minimumBytes) { reader throws(CodingError) in
            try LinkChange(from: &reader)
        }
    }
}
