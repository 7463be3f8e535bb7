import TandemIO
public import TandemModel

/// Point reads.
extension StoreView {
    /// A row with the position of the transaction that last changed it.
    public typealias Stored = StoredObject

    /// Returns the row of an object, or nil if there is none.
    ///
    /// Throws `damaged` if the bytes aren't a row of the object's entity.
    public func stored(_ object: ObjectReference) throws(StoreError) -> Stored? {
        if let kept = cachedRow(of: object) {
            assert(isStored(kept), "A cached row is that of the open transaction.")
            return kept
        }
        guard let value = try current.get(tables.rows, SmallKey(row: object)) else { return nil }
        return try stored(object, at: value)
    }

    /// Returns whether a row equals the one in the table; always true unless invariants are
    /// verified.
    func isStored(_ kept: Stored) -> Bool {
        do throws(StoreError) {
            guard Invariants.walk(1) else { return true }
            let value = try current.get(tables.rows, SmallKey(row: kept.object))
            let stored = value.flatMap { StoreView.stored(kept.object, $0) }
            return stored?.version == kept.version && stored?.row.bytes == kept.row.bytes
        } catch {
            // A table that can't be read does not contradict the row.
            return true
        }
    }

    /// Calls `body` with the row of an object, borrowed in place; returns false if there is none.
    ///
    /// Until `body` returns, a write or the end of the transaction traps. Throws `damaged` if the
    /// bytes aren't a row of the object's entity.
    func withRow(
        of object: ObjectReference, _ body: (RowView) -> Void
    ) throws(StoreError) -> Bool {
        if let kept = cachedRow(of: object) {
            kept.row.withView(body)
            return true
        }
        let open = try current
        guard let value = try open.get(tables.rows, SmallKey(row: object)) else { return false }
        let row = try rowView(object, at: value)
        open.lend { body(row) }
        return true
    }

    /// Returns the entity for which a number was used, even if the object was deleted.
    public func entity(ofNumber number: ObjectNumber) throws(StoreError) -> EntityTag? {
        guard let value = try current.get(tables.numbers, SmallKey(number: number)) else {
            return nil
        }
        return try tag(value, of: number, in: .numbers)
    }

    /// Returns the members of a to-many relationship by ascending number, at most `most`.
    ///
    /// Throws the error of the budget's check.
    public func members(
        of owner: ObjectNumber, _ relationship: CompiledRelationship, atMost most: Int = .max,
        budget: ReadBudget? = nil
    ) throws(StoreError) -> [ObjectReference] {
        guard most > 0 else { return [] }
        var members: [ObjectReference] = []
        let prefix = StoreKey.links(relationship.linkID, of: owner)
        try current.scan(tables.links, prefix: prefix) { (key, value) throws(StoreError) -> Bool in
            members.append(
                try object(endOf: key, value, in: .links, isOrdered: relationship.isOrdered))
            try budget?.check(collected: members)
            return members.count < most
        }
        return members
    }

    /// Returns the number of members of a to-many relationship, counting up to `most`.
    public func memberCount(
        of owner: ObjectNumber, _ relationship: CompiledRelationship, atMost most: Int
    ) throws(StoreError) -> Int {
        guard most > 0 else { return 0 }
        var count = 0
        let prefix = StoreKey.links(relationship.linkID, of: owner)
        try current.scan(tables.links, prefix: prefix) { _, _ in
            count += 1
            return count < most
        }
        return count
    }

    /// Whether `member` is a member of the owner's relationship.
    public func isMember(
        _ member: ObjectNumber, of owner: ObjectNumber, _ relationship: CompiledRelationship
    ) throws(StoreError) -> Bool {
        try current.get(tables.links, SmallKey(link: relationship.linkID, owner, member)) != nil
    }

    /// Returns the object that holds a unique tuple, verified against its row.
    public func owner(
        of index: CompiledIndex, _ row: Row, _ entity: CompiledEntity
    ) throws(StoreError) -> ObjectReference? {
        guard let key = StoreKey.unique(index, row, entity),
            let value = try current.get(tables.unique, key)
        else { return nil }
        let owner = try holder(value)
        guard let held = try stored(owner), let ownerEntity = model?.entity(tagged: owner.tag),
            StoreKey.tuple(index, held.row, ownerEntity) == StoreKey.tuple(index, row, entity)
        else { return nil }
        return owner
    }

    /// Returns the number of objects of an entity, without its subentities.
    ///
    /// Cost: reads all keys of these objects.
    public func count(of tag: EntityTag) throws(StoreError) -> Int {
        var count = 0
        try current.scan(tables.rows, prefix: StoreKey.tag(tag)) { _, _ in
            count += 1
            return true
        }
        return count
    }

    /// Whether the store has no objects.
    public var isEmpty: Bool {
        get throws(StoreError) { try current.count(tables.rows) == 0 }
    }
}
