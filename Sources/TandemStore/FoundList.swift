public import TandemQuery

/// A long list that an index gave, whose objects are put in order group by group as they are taken: also when the store has changed since.
///
/// So the first are on their way while the others are put in order, and no more of them is in memory in its last form than a part.
///
///     var budget = 4_096
///     while !list.isTaken, let places = list.takePart(bytes: 256 << 10, &budget) { send(places) }
///
/// Bound to one thread.
public final class FoundList {
    private let walk: ListWalk
    private var taken = 0

    init(_ walk: ListWalk) {
        self.walk = walk
    }

    /// How many objects it has, those included that were taken.
    public var count: Int { walk.count }

    /// About the bytes that it holds.
    public var bytes: Int { walk.bytes }

    /// Whether all objects were taken.
    public var isTaken: Bool { taken == count }

    /// The next objects, of about so many bytes, or all that are left; nil where the budget was used up before, to be asked for again.
    public func takePart(bytes: Int, _ budget: inout Int) -> ListPlaces? {
        let part = walk.takePart(bytes: bytes, &budget)
        taken += part?.count ?? 0
        return part
    }
}
