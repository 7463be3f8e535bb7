import TandemModel

/// The rows that were written last, so that who changes an object again need not look for its row in LMDB.
///
/// An object has one place, by its number, and takes it from whoever was there. Only small rows are kept: all together
/// are a few megabytes (``StoreLimits/cachedRows``, ``StoreLimits/cachedRowBytes``). Every change of a row goes through
/// ``note(_:of:at:)`` or ``remove(_:)``, or empties it.
struct RowCache {
    private var places: [Store.Stored?] = []

    /// The row of an object, if it is kept.
    subscript(object: ObjectReference) -> Store.Stored? {
        guard !places.isEmpty, let stored = places[RowCache.place(of: object)],
            stored.object == object
        else { return nil }
        return stored
    }

    /// Whether the row of an object is kept.
    func contains(_ object: ObjectReference) -> Bool {
        !places.isEmpty && places[RowCache.place(of: object)]?.object == object
    }

    /// Notes that a row was written.
    mutating func note(_ row: Row, of object: ObjectReference, at position: UInt64) {
        if places.isEmpty {
            places = Array(repeating: nil, count: StoreLimits.cachedRows)
        }
        let isSmall = row.bytes.count <= StoreLimits.cachedRowBytes
        places[RowCache.place(of: object)] =
            isSmall ? Store.Stored(object: object, version: position, row: row) : nil
    }

    /// Notes that an object has no row any more.
    mutating func remove(_ object: ObjectReference) {
        if !places.isEmpty { places[RowCache.place(of: object)] = nil }
    }

    /// Forgets everything.
    mutating func removeAll() { places = [] }

    private static func place(of object: ObjectReference) -> Int {
        Int(object.number % UInt64(StoreLimits.cachedRows))
    }
}
