import TandemModel

/// The tables of the store and the form of their keys; all numbers in keys are big-endian.
///
///     rows      tag (2) number (8)                    → version (8) row
///     numbers   number (8)                            → tag (2); kept after a deletion
///     links     link id (2) owner (8) member (8)      → member's tag (2) [rank, if ordered]
///     indexes   index id (2) tuple (≤ 480) number (8) → tag (2)
///     unique    constraint id (2) hash of tuple (16)  → tag (2) number (8)
///     saves     uid (4) save id                       → position (8) hash (16) inserted … [batch]
///     saveOrder position (8)                          → key in saves, for a save that wrote
///     unchanged position (8) key in saves             → nothing; for a save that did not
///     blobs     SHA-256 (32)                          → content
///     blobUses  SHA-256 (32)                          → count (8) last changed at position (8)
///     unusedBlobs position (8) SHA-256 (32)           → nothing; for a blob whose count is 0
///     consumers name                                  → acknowledged position (8) user (4)
///     meta      name                                  → see ``MetaKey``
///
/// The complete form of a value in `saves` is in ``IdempotencyRecord/bytes``.
struct StoreTables {
    var rows: LMDBTable
    var numbers: LMDBTable
    var links: LMDBTable
    var indexes: LMDBTable
    var unique: LMDBTable
    var saves: LMDBTable
    var saveOrder: LMDBTable
    var unchanged: LMDBTable
    var blobs: LMDBTable
    var blobUses: LMDBTable
    var unusedBlobs: LMDBTable
    var meta: LMDBTable
    var consumers: LMDBTable

    static let count = 13

    init(_ transaction: LMDBTransaction, create: Bool) throws(StoreError) {
        rows = try transaction.table("rows", create: create)
        numbers = try transaction.table("numbers", create: create)
        links = try transaction.table("links", create: create)
        indexes = try transaction.table("indexes", create: create)
        unique = try transaction.table("unique", create: create)
        saves = try transaction.table("saves", create: create)
        saveOrder = try transaction.table("saveOrder", create: create)
        unchanged = try transaction.table("unchanged", create: create)
        blobs = try transaction.table("blobs", create: create)
        blobUses = try transaction.table("blobUses", create: create)
        unusedBlobs = try transaction.table("unusedBlobs", create: create)
        meta = try transaction.table("meta", create: create)
        consumers = try transaction.table("consumers", create: create)
    }
}

/// The keys of the meta table.
enum MetaKey: String {
    /// The format of the store, 4 bytes.
    case format
    /// The log id, 16 bytes, and the epoch, 4 bytes.
    case identity
    /// The applied position, 8 bytes.
    case applied
    /// The compiled model.
    case model
    /// The hashes of models that were installed or served, 16 bytes each, the latest one last.
    case knownModels
    /// The position at which the model was installed, 8 bytes.
    case modelPosition
    /// The high-water mark of object numbers, 8 bytes.
    case leases
    /// The position below which save ids are no longer known, 8 bytes.
    case saveFloor
    /// The collation stamp of the index keys, as text.
    case collation
    /// The folding stamp of the derived texts in rows, as text.
    case folding

    var key: [UInt8] { Array(rawValue.utf8) }
}

/// Builds the keys of the tables.
enum StoreKey {
    /// The maximum size of an LMDB key, in bytes.
    static let longest = 511
    /// The maximum size of the tuple in an index key, in bytes.
    static let tupleLimit = 480

    static func row(_ object: ObjectReference) -> [UInt8] {
        var key = KeyEncoder(capacity: 10)
        key.append(tag: object.tag)
        key.append(number: object.number)
        return key.bytes
    }

    static func tag(_ tag: EntityTag) -> [UInt8] { [UInt8(tag >> 8), UInt8(tag & 0xff)] }

    static func number(_ number: UInt64) -> [UInt8] {
        var key = KeyEncoder(capacity: 8)
        key.append(number: number)
        return key.bytes
    }

    static func links(_ link: UInt16, of owner: ObjectNumber) -> [UInt8] {
        var key = KeyEncoder(capacity: 18)
        key.append(tag: link)
        key.append(number: owner)
        return key.bytes
    }

    static func link(_ link: UInt16, _ owner: ObjectNumber, _ member: ObjectNumber) -> [UInt8] {
        links(link, of: owner) + number(member)
    }

    /// Returns the complete tuple of an index.
    static func tuple(_ index: CompiledIndex, _ row: Row, _ entity: CompiledEntity) -> [UInt8] {
        var key = KeyEncoder()
        for slot in index.slots { key.append(slot, of: row, in: entity) }
        return key.bytes
    }

    /// Returns the key of an object in an index; a tuple that is too long is truncated.
    static func index(_ id: UInt16, _ tuple: [UInt8], _ number: ObjectNumber) -> [UInt8] {
        tag(id) + tuple.prefix(tupleLimit) + self.number(number)
    }

    /// Returns the key of an object in an index, made from its row.
    static func index(
        _ index: CompiledIndex, _ row: Row, _ entity: CompiledEntity, _ number: ObjectNumber
    ) -> [UInt8] {
        var key = KeyEncoder(capacity: 64)
        key.append(tag: index.id)
        for slot in index.slots { key.append(slot, of: row, in: entity) }
        key.cut(to: 2 + tupleLimit)
        key.append(number: number)
        assert(key.bytes.count <= longest, "A key of an index fits LMDB's limit.")
        return key.bytes
    }

    /// Returns the key of a unique tuple, or nil if one of its values is nil, because tuples with
    /// nil never conflict.
    static func unique(
        _ index: CompiledIndex, _ row: Row, _ entity: CompiledEntity
    ) -> [UInt8]? {
        guard index.slots.allSatisfy({ !row.isNull($0, in: entity) }) else { return nil }
        return unique(index.id, tuple(index, row, entity))
    }

    /// Returns the key of a unique tuple without nil values.
    static func unique(_ id: UInt16, _ tuple: [UInt8]) -> [UInt8] {
        let hash = StableHash(tuple)
        return tag(id) + number(hash.first) + number(hash.second)
    }

    static func save(_ uid: UInt32, _ id: [UInt8]) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: SmallKey.saveBytes + id.count) { bytes, count in
            withUnsafeBytes(of: uid.bigEndian) { _ = bytes.update(fromContentsOf: $0) }
            _ = bytes[SmallKey.saveBytes...].update(fromContentsOf: id)
            count = bytes.count
        }
    }
}

extension StoreKey {
    /// Returns bytes in hexadecimal.
    static func hex(_ bytes: UnsafeRawBufferPointer) -> String {
        let digits = Array("0123456789abcdef".utf8)
        var text: [UInt8] = []
        text.reserveCapacity(2 * bytes.count)
        for byte in bytes {
            text.append(digits[Int(byte >> 4)])
            text.append(digits[Int(byte & 15)])
        }
        return String(decoding: text, as: UTF8.self)
    }
}

extension UnsafeRawBufferPointer {
    /// Returns the big-endian number at an offset; traps beyond the end, so check the length first.
    @inline(__always)
    func bigEndian<T: FixedWidthInteger>(_ offset: Int, as type: T.Type) -> T {
        precondition(offset + MemoryLayout<T>.size <= count, "The bytes end before the number.")
        return T(bigEndian: loadUnaligned(fromByteOffset: offset, as: T.self))
    }
}
