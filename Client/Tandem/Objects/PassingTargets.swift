import TandemModel

/// Where relationships led lately while values are made of rows.
///
/// A hash table in which whatever is new takes the place of what was there. Each object is retained together with its record until
/// then, or until the table goes; those that were made meanwhile are lent to their records, so that nothing knows them weakly and they are as
/// quick to retain as others.
///
/// It begins small, for rows that follow each other mostly lead to the same objects. When it has lost four times as many objects as it has
/// places it doubles, up to ``mostPlaces``: to make an object anew takes longer than all else that is done for a row.
final class PassingTargets {
    private struct Target {
        let object: Unmanaged<ManagedObject>
        let record: Unmanaged<ObjectRecord>
        /// Whether the object is lent to its record from here.
        let isLent: Bool
    }

    static let mostPlaces = 4_096

    // What follows is read and assigned at once, and nobody's code runs meanwhile.
    @exclusivity(unchecked) private var places = PassingTargets.room(64)
    /// How far a product is shifted to be a place.
    @exclusivity(unchecked) private var shift: UInt64 = 58
    /// How many objects others took the place of since the table has its size.
    private var lost = 0

    deinit {
        for target in places { drop(target) }
        places.deallocate()
    }

    /// The object of a reference, if it is here and what a look into its context would give.
    @inline(__always)
    subscript(reference: ObjectReference) -> ManagedObject? {
        guard let target = places[place(reference.number)],
            target.record._withUnsafeGuaranteedRef({ $0.reference == reference && !$0.isDeleted }),
            target.object._withUnsafeGuaranteedRef({ $0.shows(target.record) })
        else { return nil }
        return target.object.takeUnretainedValue()
    }

    /// Keeps an object at hand until another one takes its place; one that is lent is taken away from its record then.
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
        // What only this holds nobody will find.
        let isAlone = isKnownUniquelyReferenced(&object)
        guard target.isLent, let object else { return }
        if isAlone { record.drop(object) } else { record.settle(object) }
    }

    /// Doubles the places; what shared one with nothing before does not now, since a product only gains a bit.
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

    /// Numbers are scattered by the golden ratio (Knuth, The Art of Computer Programming 3, 6.4), also those that lie evenly apart.
    @inline(__always)
    private func place(_ number: ObjectNumber) -> Int {
        Int((number &* 0x9E37_79B9_7F4A_7C15) &>> shift)
    }
}
