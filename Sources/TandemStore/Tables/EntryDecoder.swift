import TandemIO
import TandemModel

/// A decoder of keys and values of a store's tables; malformed bytes are an error, never a trap.
struct EntryDecoder {
    /// The size of the version before the row in a value.
    static let versionBytes = 8

    /// The directory of the store, for error messages.
    private let path: String

    init(path: String) { self.path = path }

    // MARK: Rows

    /// Decodes a value of the rows table; a nil entity means that the model has no such entity.
    ///
    /// Throws `damaged` if the bytes aren't a row of the entity.
    func stored(
        _ object: ObjectReference, at value: UnsafeRawBufferPointer, of entity: CompiledEntity?
    ) throws(StoreError) -> StoredObject {
        assert(entity.map { $0.tag == object.tag } ?? true, "The entity is the object's.")
        guard let stored = EntryDecoder.stored(object, value) else {
            throw damaged(.rows, object.number, "a value of \(value.count) bytes")
        }
        guard let entity, stored.row.hasShape(of: entity) else {
            throw damaged(.rows, object.number, "\(value.count) bytes that are not a row")
        }
        return stored
    }

    /// Decodes a value in place, given the shape of the entity's rows; faster for many rows.
    ///
    /// A nil shape means that the model has no such entity. Throws `damaged` if the bytes aren't a
    /// row of that shape.
    @inline(__always)
    func rowView(
        _ object: ObjectReference, at value: UnsafeRawBufferPointer, _ shape: RowShape?
    ) throws(StoreError) -> RowView {
        guard value.count >= EntryDecoder.versionBytes + RowLayout.minimumRowBytes else {
            throw damaged(.rows, object.number, "a value of \(value.count) bytes")
        }
        let row = RowView(UnsafeRawBufferPointer(rebasing: value[EntryDecoder.versionBytes...]))
        guard let shape, row.has(shape) else {
            throw damaged(.rows, object.number, "\(value.count) bytes that are not a row")
        }
        return row
    }

    /// Decodes a row with its version, without checking it against a model; nil if there are too
    /// few bytes.
    static func stored(_ object: ObjectReference, _ value: UnsafeRawBufferPointer) -> StoredObject?
    {
        guard value.count >= versionBytes + RowLayout.minimumRowBytes else { return nil }
        let version = UInt64(littleEndian: value.loadUnaligned(as: UInt64.self))
        let row = Row(bytes: Array(UnsafeRawBufferPointer(rebasing: value[8...])))
        return StoredObject(object: object, version: version, row: row)
    }

    /// Returns whether a row equals the stored one; always true unless invariants are verified.
    func isStored(
        _ cached: StoredObject, _ rows: LMDBTable, _ open: LMDBTransaction
    ) throws(StoreError) -> Bool {
        guard Invariants.walk(1) else { return true }
        let value = try open.get(rows, SmallKey(row: cached.object))
        let stored = value.flatMap { EntryDecoder.stored(cached.object, $0) }
        return stored?.version == cached.version && stored?.row.bytes == cached.row.bytes
    }

    // MARK: Keys

    /// Returns the object with the given entity whose number is the rest of a key.
    @inline(__always)
    func object(
        _ tag: EntityTag, _ key: UnsafeRawBufferPointer, in table: StoreTable
    ) throws(StoreError) -> ObjectReference {
        guard key.count == 8 else {
            throw damaged(table, 0, "a key that does not end with a number")
        }
        return ObjectReference(tag: tag, number: key.bigEndian(0, as: UInt64.self))
    }

    /// Returns the object whose number is at the end of a key and whose tag is in the value.
    ///
    /// If `isOrdered` is true, a rank may follow the tag in a link.
    @inline(__always)
    func object(
        endOf key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer, in table: StoreTable,
        isOrdered: Bool = true
    ) throws(StoreError) -> ObjectReference {
        guard key.count >= 8 else {
            throw damaged(table, 0, "a key that does not end with a number")
        }
        let number = key.bigEndian(key.count - 8, as: UInt64.self)
        // In a link of an ordered relationship, a rank follows the tag.
        let hasRank = table == .links && isOrdered && value.count > 2
        let first = hasRank ? UnsafeRawBufferPointer(rebasing: value[..<2]) : value
        return ObjectReference(tag: try tag(first, of: number, in: table), number: number)
    }

    /// Decodes the rank after the tag in the value of a link.
    func rank(
        _ value: UnsafeRawBufferPointer, of member: ObjectNumber
    ) throws(StoreError) -> Rank {
        guard value.count > 2, let rank = Rank(value[2...]) else {
            throw damaged(.links, member, "a link of an ordered relationship without a rank")
        }
        return rank
    }

    /// Decodes a value that consists of a tag.
    @inline(__always)
    func tag(
        _ value: UnsafeRawBufferPointer, of number: ObjectNumber, in table: StoreTable
    ) throws(StoreError) -> EntityTag {
        guard value.count == 2 else {
            throw damaged(table, number, "a tag of \(value.count) bytes")
        }
        return value.bigEndian(0, as: UInt16.self)
    }

    /// Decodes the object in a value of the `unique` table.
    func holder(_ value: UnsafeRawBufferPointer) throws(StoreError) -> ObjectReference {
        guard value.count == 10 else {
            throw damaged(.unique, 0, "a value of \(value.count) bytes")
        }
        return ObjectReference(
            tag: value.bigEndian(0, as: UInt16.self), number: value.bigEndian(2, as: UInt64.self))
    }

    // MARK: Errors

    /// Returns the error for a malformed entry; `number` is 0 if no object is concerned.
    @inline(never)
    func damaged(_ table: StoreTable, _ number: ObjectNumber, _ what: String) -> StoreError {
        let place = number == 0 ? "" : ", object \(number)"
        return StoreError(
            .damaged,
            "the store at \(path) has \(what) in its table \(table.rawValue)\(place); run "
                + "`tandem check`")
    }

    /// Returns the error for a change of an object that has no row.
    @inline(never)
    func rowless(_ object: ObjectReference) -> StoreError {
        StoreError(
            .damaged, "the store at \(path) has no row of object \(object.number) to change")
    }
}
