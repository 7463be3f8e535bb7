import TandemIO
package import TandemModel

/// Reads of rows, unique keys and long values.
extension StoreView {
    /// A row with the position of the transaction that last changed it.
    package typealias Stored = StoredObject

    /// Returns the row of an object, or nil if there is none.
    ///
    /// Throws `damaged` if the bytes aren't a row of the object's entity.
    package func stored(_ object: ObjectReference) throws(StoreError) -> Stored? {
        if let cached = cachedRow(of: object) {
            assert(
                (try? decoder.isStored(cached, tables.rows, current)) ?? true,
                "A cached row equals the stored one.")
            return cached
        }
        guard let value = try current.get(tables.rows, SmallKey(row: object)) else { return nil }
        return try stored(object, at: value)
    }

    /// Calls `body` with the row of an object, borrowed in place; returns false if there is none.
    ///
    /// Until `body` returns, a write or the end of the transaction traps. Throws `damaged` if the
    /// bytes aren't a row of the object's entity.
    func withRow(
        of object: ObjectReference, _ body: (RowView) -> Void
    ) throws(StoreError) -> Bool {
        if let cached = cachedRow(of: object) {
            cached.row.withView(body)
            return true
        }
        let open = try current
        guard let value = try open.get(tables.rows, SmallKey(row: object)) else { return false }
        let row = try rowView(object, at: value)
        open.withBorrowedPages { body(row) }
        return true
    }

    /// Returns the entity for which a number was used, even if the object was deleted.
    package func entity(ofNumber number: ObjectNumber) throws(StoreError) -> EntityTag? {
        guard let value = try current.get(tables.numbers, SmallKey(number: number)) else {
            return nil
        }
        return try decoder.tag(value, of: number, in: .numbers)
    }

    /// Returns the object with a unique tuple, verified against its row.
    package func owner(
        of index: CompiledIndex, _ row: Row, _ entity: CompiledEntity
    ) throws(StoreError) -> ObjectReference? {
        guard let key = StoreKey.unique(index, row, entity),
            let value = try current.get(tables.unique, key)
        else { return nil }
        let owner = try decoder.holder(value)
        guard let held = try stored(owner), let ownerEntity = model?.entity(tagged: owner.tag),
            StoreKey.tuple(index, held.row, ownerEntity) == StoreKey.tuple(index, row, entity)
        else { return nil }
        return owner
    }

    /// Returns the number of objects of an entity, without its subentities.
    ///
    /// Cost: reads all keys of these objects.
    package func count(of tag: EntityTag) throws(StoreError) -> Int {
        try count(tables.rows, in: KeyRange(prefix: StoreKey.tag(tag)))
    }

    /// Returns the number of keys in a range, counting up to `most`.
    func count(
        _ table: LMDBTable, in range: KeyRange, atMost most: Int = .max
    ) throws(StoreError) -> Int {
        guard most > 0, !range.isEmpty else { return 0 }
        var count = 0
        try current.scan(table, from: range.lower) { key, _ in
            guard range.isBelowEnd(key) else { return false }
            count += 1
            return count < most
        }
        assert(count <= most, "No more keys are counted than was asked for.")
        return count
    }

    /// Whether the store has no objects.
    package var isEmpty: Bool {
        get throws(StoreError) { try current.count(tables.rows) == 0 }
    }

    // MARK: Rows of an entity

    /// Calls `body` with each row of one entity; a bounded number of rows is read at a time.
    ///
    /// No read is open during a call, so `body` may write, but no rows of the entity except the one
    /// that it received.
    func rows(
        of tag: EntityTag, _ body: (Stored) throws(StoreError) -> Void
    ) throws(StoreError) {
        var first: ObjectNumber? = 0
        while let from = first {
            let step = try rowStep(of: tag, from: from)
            for stored in step { try body(stored) }
            first = step.last.flatMap { $0.object.number.successor }
        }
    }

    /// Returns the next rows of one entity, starting at a number; an empty array at the end.
    ///
    /// Reads at most 1,024 rows. Throws `damaged` for a row that can't be read.
    package func rowStep(
        of tag: EntityTag, from first: ObjectNumber
    ) throws(StoreError) -> [Stored] {
        let prefix = StoreKey.tag(tag)
        var step: [Stored] = []
        try current.scan(
            tables.rows, from: StoreKey.row(ObjectReference(tag: tag, number: first))
        ) { (key, value) throws(StoreError) -> Bool in
            guard key.starts(with: prefix) else { return false }
            let number = UnsafeRawBufferPointer(rebasing: key[prefix.count...])
            step.append(try stored(try decoder.object(tag, number, in: .rows), at: value))
            return step.count < StoreLimits.migrationStep
        }
        return step
    }

    /// Returns whether there are objects of an entity or of its subentities.
    package func hasObjects(of entity: CompiledEntity) throws(StoreError) -> Bool {
        for tag in entity.descendants {
            let range = KeyRange(prefix: StoreKey.tag(tag))
            if try count(tables.rows, in: range, atMost: 1) > 0 { return true }
        }
        return false
    }

    // MARK: Decoding

    /// Decodes a value of the rows table.
    ///
    /// Throws `damaged` if the bytes aren't a row of the object's entity.
    func stored(
        _ object: ObjectReference, at value: UnsafeRawBufferPointer
    ) throws(StoreError) -> Stored {
        try decoder.stored(object, at: value, of: model?.entity(tagged: object.tag))
    }

    /// Decodes a value of the rows table in place; valid until the next write.
    ///
    /// Throws `damaged` if the bytes aren't a row of the object's entity.
    func rowView(
        _ object: ObjectReference, at value: UnsafeRawBufferPointer
    ) throws(StoreError) -> RowView {
        let shape = model?.entity(tagged: object.tag).map { RowShape(of: $0) }
        return try decoder.rowView(object, at: value, shape)
    }

    /// The error for a missing object or blob to which something refers.
    var unreadable: StoreError {
        StoreError(
            .damaged, "the store at \(path) lacks something that a row or the request refers to")
    }

    // MARK: Long values and derived attributes

    /// Returns the content of a blob, or nil if the store doesn't have it.
    ///
    /// Cost: copies the content.
    package func content(of blob: BlobReference) throws(StoreError) -> [UInt8]? {
        try current.get(tables.blobs, blob.hash).map { Array($0) }
    }

    /// Returns whether the store has the content of a blob.
    package func hasContent(of blob: BlobReference) throws(StoreError) -> Bool {
        try current.get(tables.blobUses, blob.hash) != nil
    }

    /// Returns whether the store has the content of a blob, and its length and beginning match the
    /// reference.
    package func hasMatchingContent(of blob: BlobReference) throws(StoreError) -> Bool {
        guard let content = try current.get(tables.blobs, blob.hash) else { return false }
        return blob.matches(content)
    }

    /// Returns the expected value of a derived attribute, computed from the `source` value.
    ///
    /// A long text is returned in full, as a ``TandemModel/PropertyValue/string(_:)``. Cost:
    /// proportional to the number of members, or to the length of the text.
    package func derived(
        _ derivation: CompiledDerivation, of number: ObjectNumber, _ entity: CompiledEntity,
        from source: PropertyValue
    ) throws(StoreError) -> PropertyValue {
        switch derivation.kind {
        case .count:
            guard let relationship = entity.properties[derivation.source].relationship else {
                return .int(0)
            }
            return .int(Int64(try memberCount(of: number, relationship, atMost: .max)))
        case .folded:
            return try CompiledDerivation.folded(source) { (blob) throws(StoreError) in
                try content(of: blob)
            }
        }
    }
}

extension ObjectNumber {
    /// The next number, or nil if this is the largest one.
    package var successor: ObjectNumber? { self == .max ? nil : self + 1 }
}
