import TandemIO
import TandemModel

/// The objects that the search of a batch found, in the order of their references, and the batch's
/// own changes since the search.
struct FoundObjects {
    /// Whether an object that was found is still selected.
    enum Selection {
        /// The batch itself found that the object is no longer selected.
        case excluded
        /// Another client changed the object since the search, so it must be evaluated again.
        case changed
        /// Only the batch itself changed the object, which still counts as found.
        case found
        /// The same, and the batch may have changed derived values of the object.
        case derived
    }

    private(set) var objects: [ObjectReference] = []
    /// The position of the search; nil until it has ended.
    private(set) var position: UInt64?
    /// The index of the first object not processed.
    private(set) var next = 0
    /// The positions of the batch's transactions since its search.
    private var own: Set<UInt64> = []
    /// Objects that another client's change had already excluded when the batch first changed them.
    private var excluded: Set<ObjectReference> = []
    /// Later objects that count as selected regardless of their derived values, which the batch may
    /// have changed.
    private var derived: Set<ObjectReference> = []

    var count: Int { objects.count }

    subscript(index: Int) -> ObjectReference { objects[index] }

    /// Stores the objects found, with the position of the search.
    mutating func accept(_ objects: [ObjectReference], at position: UInt64) {
        assert(self.position == nil && next == 0, "A batch searches for its objects once.")
        assert(
            !Invariants.walk(objects.count)
                || zip(objects, objects.dropFirst()).allSatisfy { !($1 < $0) },
            "Objects are processed in the order of their references.")
        (self.objects, self.position) = (objects, position)
    }

    /// Returns whether an object is still selected, by the version of its row.
    func selection(of object: ObjectReference, version: UInt64) -> Selection {
        if excluded.contains(object) { return .excluded }
        if version > position ?? 0, !own.contains(version) { return .changed }
        return derived.contains(object) ? .derived : .found
    }

    /// Returns whether an object is among those from an index on.
    func contains(_ object: ObjectReference, from start: Int) -> Bool {
        var range = start..<objects.count
        while !range.isEmpty {
            let middle = range.lowerBound + range.count / 2
            if objects[middle] == object { return true }
            range =
                objects[middle] < object
                ? (middle + 1)..<range.upperBound : range.lowerBound..<middle
        }
        return false
    }

    /// Records a transaction of the batch that is durable, or has no effect.
    mutating func didCommit(_ part: BatchPart) {
        assert(part.next >= next && part.next <= count, "Objects are processed in order.")
        next = part.next
        excluded.formUnion(part.excluded)
        derived.formUnion(part.derived)
        if let position = part.position { own.insert(position) }
    }

    /// Forgets the objects of a batch that has failed.
    mutating func removeAll() { objects = [] }
}
