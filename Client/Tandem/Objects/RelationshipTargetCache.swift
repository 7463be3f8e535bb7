import TandemModel

/// A cache of relationship targets, used while values are made of rows.
///
/// The cache is a hash table in which a new entry evicts the old one at its index. Each object is
/// retained with its record until it is evicted or the cache is deallocated. Objects created
/// meanwhile are lent to their records, so that no weak reference slows down retaining them.
///
/// The cache begins small, because consecutive rows mostly refer to the same objects. After four
/// times as many evictions as it has slots it doubles, up to ``mostPlaces``. Creating an object
/// costs more than all other work per row.
final class RelationshipTargetCache {
    private struct Target {
        let object: Unmanaged<ManagedObject>
        let record: Unmanaged<ObjectRecord>
        /// Whether the object is lent to its record by this cache.
        let isLent: Bool
    }

    static let mostPlaces = 4_096

    // The following properties are read and assigned at once, and no other code runs meanwhile.
    @exclusivity(unchecked) private var places = RelationshipTargetCache.room(64)
    /// The number of bits by which a product is shifted to get an index.
    @exclusivity(unchecked) private var shift: UInt64 = 58
    /// The number of evictions since the last resize.
    private var lost = 0

    deinit {
        for target in places { drop(target) }
        places.deallocate()
    }

    /// Returns the cached object of a reference, if the context would return the same object.
    @inline(__always)
    subscript(reference: ObjectReference) -> ManagedObject? {
        guard let target = places[place(reference.number)],
            target.record._withUnsafeGuaranteedRef({ $0.reference == reference && !$0.isDeleted }),
            target.object._withUnsafeGuaranteedRef({ $0.shows(target.record) })
        else { return nil }
        return target.object.takeUnretainedValue()
    }

    /// Caches an object until it is evicted; a lent object is then taken away from its record.
    func keep(_ object: ManagedObject, _ record: ObjectRecord, isLent: Bool) {
        if lost > 4 * places.count, places.count < Self.mostPlaces { grow() }
        let place = place(record.reference.number)
        let old = places[place]
        places[place] = Target(
            object: .passRetained(object), record: .passRetained(record), isLent: isLent)
        guard let old else { return }
        lost += 1
        drop(old)
    }

    private func drop(_ target: Target?) {
        guard let target else { return }
        let record = target.record.takeRetainedValue()
        var object: ManagedObject? = target.object.takeRetainedValue()
        // An object that only this cache retains can't be found any more.
        let isAlone = isKnownUniquelyReferenced(&object)
        guard target.isLent, let object else { return }
        if isAlone { record.drop(object) } else { record.settle(object) }
    }

    /// Doubles the capacity.
    ///
    /// Entries that did not collide before can't collide now, because an index only gains a bit.
    private func grow() {
        let old = places
        defer { old.deallocate() }
        places = Self.room(old.count * 2)
        shift -= 1
        lost = 0
        for target in old {
            guard let target else { continue }
            let number = target.record._withUnsafeGuaranteedRef { $0.reference.number }
            places[place(number)] = target
        }
    }

    private static func room(_ count: Int) -> UnsafeMutableBufferPointer<Target?> {
        let room = UnsafeMutableBufferPointer<Target?>.allocate(capacity: count)
        room.initialize(repeating: nil)
        return room
    }

    /// Returns the index of a number, by Fibonacci hashing.
    ///
    /// Evenly spaced numbers are scattered as well (Knuth, The Art of Computer Programming 3, 6.4).
    @inline(__always)
    private func place(_ number: ObjectNumber) -> Int {
        Int((number &* 0x9E37_79B9_7F4A_7C15) &>> shift)
    }
}
