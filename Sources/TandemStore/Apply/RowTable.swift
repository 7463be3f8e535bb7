import TandemModel

/// The writer of the rows table, with a cache of recently written rows.
final class RowTable {
    private let table: LMDBTable
    private let decoder: EntryDecoder
    private var cache = RowCache()

    init(_ table: LMDBTable, _ decoder: EntryDecoder) {
        self.table = table
        self.decoder = decoder
    }

    /// Returns the row of an object if it is cached.
    func cached(_ object: ObjectReference) -> StoredObject? { cache[object] }

    /// Empties the cache; required after a transaction was aborted or rows were written directly.
    func forgetCached() { cache.removeAll() }

    /// Returns the row of an object of an entity, or nil if there is none.
    ///
    /// Throws `damaged` if the bytes aren't a row of the entity.
    func stored(
        _ object: ObjectReference, _ entity: CompiledEntity, _ open: LMDBTransaction
    ) throws(StoreError) -> StoredObject? {
        if let cached = cache[object] {
            assert(isStored(cached, open), "A cached row equals the stored one.")
            return cached
        }
        guard let value = try open.get(table, SmallKey(row: object)) else { return nil }
        return try decoder.stored(object, at: value, of: entity)
    }

    /// Writes the row of an object.
    func put(
        _ row: Row, of object: ObjectReference, version: UInt64, _ open: LMDBTransaction
    ) throws(StoreError) {
        try open.put(
            table, SmallKey(row: object), count: EntryDecoder.versionBytes + row.bytes.count
        ) { value in
            RowTable.fill(value, row, version)
        }
        cache.record(row, of: object, at: version)
    }

    /// Replaces the row of an object; throws `damaged` if there is none.
    func replace(
        _ row: Row, of object: ObjectReference, version: UInt64, _ open: LMDBTransaction
    ) throws(StoreError) {
        if cache.contains(object) {
            assert(
                cache[object].map { isStored($0, open) } ?? false,
                "A cached row exists in the store.")
            return try put(row, of: object, version: version, open)
        }
        let isThere = try open.replace(
            table, SmallKey(row: object), count: EntryDecoder.versionBytes + row.bytes.count
        ) { value in
            RowTable.fill(value, row, version)
        }
        guard isThere else { throw decoder.rowless(object) }
        cache.record(row, of: object, at: version)
    }

    /// Removes the row of an object.
    func delete(_ object: ObjectReference, _ open: LMDBTransaction) throws(StoreError) {
        try open.delete(table, SmallKey(row: object))
        cache.remove(object)
    }

    private static func fill(
        _ value: UnsafeMutableRawBufferPointer, _ row: Row, _ version: UInt64
    ) {
        assert(
            value.count == EntryDecoder.versionBytes + row.bytes.count, "The row fills the value.")
        value.storeBytes(of: version.littleEndian, as: UInt64.self)
        UnsafeMutableRawBufferPointer(rebasing: value[EntryDecoder.versionBytes...])
            .copyBytes(from: row.bytes)
    }

    /// Returns whether a cached row equals the stored one; true if the table can't be read.
    private func isStored(_ cached: StoredObject, _ open: LMDBTransaction) -> Bool {
        (try? decoder.isStored(cached, table, open)) ?? true
    }
}
