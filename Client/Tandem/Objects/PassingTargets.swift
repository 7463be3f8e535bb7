import TandemModel

/// Where relationships led lately while values are made of rows.
///
/// A hash table in which whatever is new takes the place of what was there. Each object is retained together with its record until
/// then, or until the table goes; those that were made meanwhile are lent to their records, so that nothing knows them weakly and they are as
/// quick to retain as others.
final class PassingTargets {
    private struct Target {
        let object: Unmanaged<ManagedObject>
        let record: Unmanaged<ObjectRecord>
        /// Whether the object is lent to its record from here.
        let isLent: Bool
    }

    private static let size = 64

    private let places = UnsafeMutablePointer<Target?>.allocate(capacity: size)

    init() { places.initialize(repeating: nil, count: Self.size) }

    deinit {
        for place in 0..<Self.size { drop(places[place]) }
        places.deallocate()
    }

    /// The object of a reference, if it is here and what a look into its context would give.
    @inline(__always)
    subscript(reference: ObjectReference) -> ManagedObject? {
        guard let target = places[Self.place(reference)],
            target.record._withUnsafeGuaranteedRef({ $0.reference == reference && !$0.isDeleted }),
            target.object._withUnsafeGuaranteedRef({ $0.shows(target.record) })
        else { return nil }
        return target.object.takeUnretainedValue()
    }

    /// Keeps an object at hand until another one takes its place; one that is lent is taken away from its record then.
    func keep(_ object: ManagedObject, _ record: ObjectRecord, isLent: Bool) {
        let place = places + Self.place(record.reference)
        let old = place.pointee
        place.pointee = Target(
            object: .passRetained(object), record: .passRetained(record), isLent: isLent)
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

    @inline(__always)
    private static func place(_ reference: ObjectReference) -> Int {
        Int(truncatingIfNeeded: reference.number % UInt64(size))
    }
}
