import TandemModel

/// A cache of recently written rows, so that repeated changes of an object don't read from LMDB.
///
/// The cache is direct-mapped: each object number has one slot, and a newer row evicts the older
/// one. Only small rows are cached, a few megabytes in total (``StoreLimits/cachedRows``,
/// ``StoreLimits/cachedRowBytes``). After every change of a row, call ``record(_:of:at:)``,
/// ``remove(_:)`` or ``removeAll()``.
struct RowCache {
    private var places: [Store.Stored?] = []

    /// The row of an object, or nil if it isn't cached.
    subscript(object: ObjectReference) -> Store.Stored? {
        guard !places.isEmpty, let stored = places[RowCache.slot(of: object)],
            stored.object == object
        else { return nil }
        return stored
    }

    /// Whether the row of an object is cached.
    func contains(_ object: ObjectReference) -> Bool {
        !places.isEmpty && places[RowCache.slot(of: object)]?.object == object
    }

    /// Records that a row was written.
    mutating func record(_ row: Row, of object: ObjectReference, at position: UInt64) {
        if places.isEmpty {
            places = Array(repeating: nil, count: StoreLimits.cachedRows)
        }
        assert(places.count == StoreLimits.cachedRows, "Each object number has one slot.")
        let isSmall = row.bytes.count <= StoreLimits.cachedRowBytes
        places[RowCache.slot(of: object)] =
            isSmall ? Store.Stored(object: object, version: position, row: row) : nil
    }

    /// Records that the row of an object was deleted.
    mutating func remove(_ object: ObjectReference) {
        if !places.isEmpty { places[RowCache.slot(of: object)] = nil }
        assert(!contains(object), "A deleted row is not cached.")
    }

    /// Empties the cache.
    mutating func removeAll() { places = [] }

    private static func slot(of object: ObjectReference) -> Int {
        Int(object.number % UInt64(StoreLimits.cachedRows))
    }
}
