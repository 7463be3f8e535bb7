import TandemModel

/// Writes the index entries and unique keys of rows.
struct IndexWriter {
    private let indexes: LMDBTable
    private let unique: LMDBTable
    private let decoder: EntryDecoder

    init(_ tables: StoreTables, _ decoder: EntryDecoder) {
        (indexes, unique) = (tables.indexes, tables.unique)
        self.decoder = decoder
    }

    /// Adds the entries of a row to its indexes and unique keys, except those whose values are
    /// unchanged from `old`.
    func add(
        _ row: Row, _ object: ObjectReference, _ entity: CompiledEntity, unlessSameAs old: Row?,
        _ open: LMDBTransaction
    ) throws(StoreError) {
        assert(object.tag == entity.tag, "A row is indexed under its own entity.")
        for index in entity.indexes where !isSame(row, old, index, entity) {
            try add(row, object, to: index, entity, open)
        }
        for index in entity.uniqueness where !isSame(row, old, index, entity) {
            try claim(index, row, object, entity, open)
        }
    }

    /// Removes the entries of a row from its indexes and unique keys, except those whose values are
    /// unchanged in `new`; if `new` is nil, removes all.
    func remove(
        _ old: Row?, _ object: ObjectReference, _ entity: CompiledEntity, replacedBy new: Row?,
        _ open: LMDBTransaction
    ) throws(StoreError) {
        guard let old else { throw decoder.rowless(object) }
        for index in entity.indexes where !isSame(old, new, index, entity) {
            try open.delete(indexes, StoreKey.index(index, old, entity, object.number))
        }
        for index in entity.uniqueness where !isSame(old, new, index, entity) {
            try release(index, old, object.number, entity, open)
        }
    }

    /// Adds a row to one index.
    func add(
        _ row: Row, _ object: ObjectReference, to index: CompiledIndex, _ entity: CompiledEntity,
        _ open: LMDBTransaction
    ) throws(StoreError) {
        let key = StoreKey.index(index, row, entity, object.number)
        try open.put(indexes, key, tag: object.tag)
    }

    /// Replaces a row's index key under the old model with its key under the new one.
    func move(
        _ object: ObjectReference, _ open: LMDBTransaction, from before: [UInt8]?, to key: [UInt8]
    ) throws(StoreError) {
        if let before {
            if before == key { return }
            try open.delete(indexes, before)
        }
        try open.put(indexes, key, tag: object.tag)
    }

    /// Writes the unique key of a row, if it has one; the key then refers to the row's object.
    func claim(
        _ index: CompiledIndex, _ row: Row, _ object: ObjectReference, _ entity: CompiledEntity,
        _ open: LMDBTransaction
    ) throws(StoreError) {
        guard let key = StoreKey.unique(index, row, entity) else { return }
        let value = StoreKey.tag(object.tag) + StoreKey.number(object.number)
        try open.put(unique, key, value)
    }

    /// Removes a row's unique key if the key refers to the row's object.
    ///
    /// Another object may have taken over the key earlier in the same transaction.
    func release(
        _ index: CompiledIndex, _ row: Row, _ number: ObjectNumber, _ entity: CompiledEntity,
        _ open: LMDBTransaction
    ) throws(StoreError) {
        guard let key = StoreKey.unique(index, row, entity),
            let value = try open.get(unique, key), try decoder.holder(value).number == number
        else { return }
        try open.delete(unique, key)
    }

    /// Removes all index entries.
    func clearIndexes(_ open: LMDBTransaction) throws(StoreError) { try open.clear(indexes) }

    private func isSame(
        _ row: Row, _ other: Row?, _ index: CompiledIndex, _ entity: CompiledEntity
    ) -> Bool {
        guard let other else { return false }
        return index.slots.allSatisfy { row.hasSameValue(as: other, $0, in: entity) }
    }
}
