public import TandemModel

/// Point reads from the open write transaction: they see everything that is applied.
extension Store {
    /// A row with the position that last changed it.
    public struct Stored: Hashable, Sendable {
        /// The object.
        public var object: ObjectReference
        /// The position of the transaction that last changed the row.
        public var version: UInt64
        /// The row.
        public var row: Row

        /// A row of an object at a version.
        public init(object: ObjectReference, version: UInt64, row: Row) {
            self.object = object
            self.version = version
            self.row = row
        }
    }

    /// The row of an object, or nil when there is none.
    public func stored(_ object: ObjectReference) throws(StoreError) -> Stored? {
        guard let value = try current.get(tables.rows, SmallKey(row: object)), value.count > 8
        else {
            return nil
        }
        return Store.stored(object, value)
    }

    /// The entity that a number was ever used for, also by an object that is deleted.
    public func entity(ofNumber number: ObjectNumber) throws(StoreError) -> EntityTag? {
        try current.get(tables.numbers, SmallKey(number: number)).map {
            $0.bigEndian(0, as: UInt16.self)
        }
    }

    /// The members of a to-many relationship by number.
    public func members(
        of owner: ObjectNumber, _ relationship: CompiledRelationship
    ) throws(StoreError) -> [ObjectReference] {
        var members: [ObjectReference] = []
        let prefix = StoreKey.links(relationship.linkID, of: owner)
        try current.scan(tables.links, prefix: prefix) { key, value in
            let number = key.bigEndian(0, as: UInt64.self)
            members.append(
                ObjectReference(tag: value.bigEndian(0, as: UInt16.self), number: number))
            return true
        }
        return members
    }

    /// True when `member` is one of the owner's.
    public func isMember(
        _ member: ObjectNumber, of owner: ObjectNumber, _ relationship: CompiledRelationship
    ) throws(StoreError) -> Bool {
        try current.get(tables.links, SmallKey(link: relationship.linkID, owner, member)) != nil
    }

    /// The object that holds a unique tuple, verified against its row.
    public func owner(
        of index: CompiledIndex, _ row: Row, _ entity: CompiledEntity
    ) throws(StoreError) -> ObjectReference? {
        guard let key = StoreKey.unique(index, row, entity),
            let value = try current.get(tables.unique, key), value.count == 10
        else { return nil }
        let owner = ObjectReference(
            tag: value.bigEndian(0, as: UInt16.self), number: value.bigEndian(2, as: UInt64.self))
        guard let held = try stored(owner), let ownerEntity = model?.entity(tagged: owner.tag),
            StoreKey.tuple(index, held.row, ownerEntity) == StoreKey.tuple(index, row, entity)
        else { return nil }
        return owner
    }

    /// The number of objects of exactly this entity.
    ///
    /// Cost: all its keys.
    public func count(of tag: EntityTag) throws(StoreError) -> Int {
        var count = 0
        try current.scan(tables.rows, prefix: StoreKey.tag(tag)) { _, _ in
            count += 1
            return true
        }
        return count
    }

    /// True when there is no object at all.
    public var isEmpty: Bool {
        get throws(StoreError) { try current.count(tables.rows) == 0 }
    }

    /// The row in a value of the rows table.
    static func row(_ value: UnsafeRawBufferPointer) -> Row {
        Row(bytes: Array(UnsafeRawBufferPointer(rebasing: value[8...])))
    }

    static func stored(_ object: ObjectReference, _ value: UnsafeRawBufferPointer) -> Stored {
        let version = UInt64(littleEndian: value.loadUnaligned(as: UInt64.self))
        return Stored(object: object, version: version, row: row(value))
    }

    /// The object that a key of the rows table, after its tag, stands for.
    static func object(_ tag: EntityTag, _ key: UnsafeRawBufferPointer) -> ObjectReference {
        ObjectReference(tag: tag, number: key.bigEndian(0, as: UInt64.self))
    }
}
