import TandemModel

/// Members that a to-many relationship gains and loses with a save, against the store.
struct LinkDelta {
    /// The slot of the relationship.
    let slot: Int
    private(set) var added = MemberSet()
    private(set) var removed = MemberSet()
    /// The places that the save gives to members of an ordered relationship, or to what may become one.
    private(set) var wanted: [ObjectReference: Rank] = [:]
    /// The ranks of those that go or move, and of those that come or move, once the save is planned.
    var ranks = RankDelta()

    /// Ranks that members have in the store, and those that the save gives.
    struct RankDelta {
        var before: [ObjectReference: Rank] = [:]
        var after: [ObjectReference: Rank] = [:]
    }

    /// Nothing that comes or goes.
    init(_ slot: Int) { self.slot = slot }

    /// Whether nobody comes or goes.
    var isEmpty: Bool { added.isEmpty && removed.isEmpty }

    /// Notes that a member came; one that had gone is just back.
    mutating func add(_ member: ObjectReference) {
        if removed.isEmpty || !removed.remove(member) { added.insert(member) }
    }

    /// Notes that a member went; one that had just come never was.
    mutating func remove(_ member: ObjectReference) {
        // Its place went with it: should it come again, it comes as the last.
        if !wanted.isEmpty { wanted[member] = nil }
        if added.isEmpty || !added.remove(member) { removed.insert(member) }
    }

    /// Notes the place of a member, which counts if it is one when the save is planned.
    mutating func place(_ member: ObjectReference, at rank: Rank) { wanted[member] = rank }

    /// What the change set says of them, in its order.
    var changes: [LinkChange] {
        if removed.isEmpty, ranks.before.isEmpty, ranks.after.isEmpty {
            return added.inOrder.map { LinkChange(slot: slot, target: $0, .add) }
        }
        // Whoever moves goes and comes.
        let (before, after) = (ranks.before, ranks.after)
        let come = Set(added.inOrder).union(after.keys).map {
            LinkChange(slot: slot, target: $0, .add, rank: after[$0])
        }
        let go = Set(removed.inOrder).union(before.keys).map {
            LinkChange(slot: slot, target: $0, .remove, rank: before[$0])
        }
        return (come + go).sorted(by: LinkChange.isBefore)
    }
}
