import TandemModel

/// The members that a save adds to and removes from a to-many relationship.
struct LinkDelta {
    /// The slot of the relationship.
    let slot: Int
    private(set) var added = MemberSet()
    private(set) var removed = MemberSet()
    /// The ranks that the save requests for members of an ordered relationship, some of which it
    /// may add later.
    private(set) var requestedRanks: [ObjectReference: Rank] = [:]
    /// The ranks of removed, added and moved members; set when the save is planned.
    var ranks = RankDelta()

    /// The ranks of members in the store, and those after the save.
    struct RankDelta {
        var before: [ObjectReference: Rank] = [:]
        var after: [ObjectReference: Rank] = [:]
    }

    /// Creates an empty delta for the relationship at `slot`.
    init(_ slot: Int) { self.slot = slot }

    /// Whether no member is added or removed.
    var isEmpty: Bool { added.isEmpty && removed.isEmpty }

    /// Records an added member; this cancels an earlier removal of the member.
    mutating func add(_ member: ObjectReference) {
        if removed.isEmpty || !removed.remove(member) { added.insert(member) }
        assert(!removed.contains(member), "An added member is not removed as well.")
    }

    /// Records a removed member; this cancels an earlier addition of the member.
    mutating func remove(_ member: ObjectReference) {
        // Drop the requested rank: a member that is removed and added again goes to the end.
        if !requestedRanks.isEmpty { requestedRanks[member] = nil }
        if added.isEmpty || !added.remove(member) { removed.insert(member) }
        assert(!added.contains(member), "A removed member is not added as well.")
    }

    /// Records the requested rank of a member; it has no effect unless the object is a member after
    /// the save.
    mutating func setRank(_ member: ObjectReference, at rank: Rank) {
        requestedRanks[member] = rank
    }

    /// The changes for the transaction, sorted.
    var changes: [LinkChange] {
        if removed.isEmpty, ranks.before.isEmpty, ranks.after.isEmpty {
            return added.inOrder.map { LinkChange(slot: slot, target: $0, .add) }
        }
        // A moved member is recorded as a removal at its old rank and an addition at its new rank.
        let (before, after) = (ranks.before, ranks.after)
        let additions = Set(added.inOrder).union(after.keys).map {
            LinkChange(slot: slot, target: $0, .add, rank: after[$0])
        }
        let removals = Set(removed.inOrder).union(before.keys).map {
            LinkChange(slot: slot, target: $0, .remove, rank: before[$0])
        }
        return (additions + removals).sorted(by: LinkChange.isBefore)
    }
}
