import Algorithms
import TandemIO
import TandemModel

/// The objects that the search of a batch found, in the order of their references, and the batch's
/// own changes since the search.
struct FoundObjects {
    /// Whether an object that was found is still selected.
    enum Selection {
        case selected
        case excluded
        /// The object must be evaluated again, because another client may have changed the result
        /// since the search.
        case unknown
    }

    private(set) var objects: [ObjectReference] = []
    /// The position of the search; nil until it has ended.
    private(set) var position: UInt64?
    /// The index of the first object not yet processed.
    private(set) var next = 0
    /// The positions of the batch's transactions since its search, ascending.
    private var own: [UInt64] = []
    /// Whether the batch's predicate reads derived values, which can change without a new version
    /// of the row.
    private var readsDerived = false
    /// The objects that a reader evaluated again, with the position of the evaluation and the hash
    /// of the row; the hash is nil if the row did not match.
    private var evaluated: [ObjectReference: (rowHash: Int?, position: UInt64)] = [:]
    /// Objects that another client's change had already excluded when the batch first changed them.
    private var excluded: Set<ObjectReference> = []
    /// Later objects that count as selected regardless of their derived values, which the batch may
    /// have changed.
    private var derived: Set<ObjectReference> = []

    var count: Int { objects.count }

    subscript(index: Int) -> ObjectReference { objects[index] }

    /// Stores the objects found, with the position of the search.
    mutating func accept(
        _ objects: [ObjectReference], at position: UInt64, readsDerived: Bool
    ) {
        assert(self.position == nil && next == 0, "A batch searches for its objects once.")
        assert(
            !Invariants.walk(objects.count)
                || zip(objects, objects.dropFirst()).allSatisfy { !($1 < $0) },
            "Objects are processed in the order of their references.")
        (self.objects, self.position, self.readsDerived) = (objects, position, readsDerived)
    }

    /// Stores the results for objects that were evaluated again at a position.
    mutating func accept(
        _ result: BatchSearch.Result, of objects: [ObjectReference], at position: UInt64
    ) {
        for object in objects { evaluated[object] = (nil, position) }
        for (object, hash) in zip(result.objects, result.rowHashes) {
            evaluated[object] = (hash, position)
        }
    }

    /// Returns whether an object is still selected; `end` is the last position of the store.
    func selection(of stored: StoredObject, upTo end: UInt64) -> Selection {
        let (object, version) = (stored.object, stored.version)
        if excluded.contains(object) { return .excluded }
        let known = evaluated[object]
        let since = max(position ?? 0, known?.position ?? 0)
        if version > since, !isOwn(version) { return .unknown }
        if derived.contains(object) { return .selected }
        if let known, known.rowHash == nil { return .excluded }
        // A derived value can change without a new version of the row.
        guard readsDerived, end - since > UInt64(ownCount(after: since)) else { return .selected }
        return known?.rowHash == stored.row.bytes.hashValue ? .selected : .unknown
    }

    private func isOwn(_ position: UInt64) -> Bool {
        let index = own.partitioningIndex { $0 >= position }
        return index < own.count && own[index] == position
    }

    /// Returns the number of the batch's transactions after a position.
    private func ownCount(after position: UInt64) -> Int {
        own.count - own.partitioningIndex { $0 > position }
    }

    /// Returns whether an object is among the objects from an index on.
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
    mutating func didCommit(_ part: PlannedBatchTransaction) {
        assert(part.next >= next && part.next <= count, "Objects are processed in order.")
        next = part.next
        excluded.formUnion(part.excluded)
        derived.formUnion(part.derived)
        evaluated = evaluated.filter { next < count && !($0.key < objects[next]) }
        guard let position = part.position, position > own.last ?? 0 else { return }
        own.append(position)
    }

    /// Removes the objects of a batch that has failed.
    mutating func removeAll() { objects = [] }
}
