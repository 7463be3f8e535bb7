public import TandemModel

/// The last ranks of ordered relationships that members were put behind lately, so that the next one costs no look at all of them.
///
/// What it knows of an owner is exact: whatever is applied is noted, and what it can't go on from is forgotten.
struct LastRanks {
    /// Owners of which it knows something at a time; then it begins anew.
    private static let capacity = 4_096

    private struct Place: Hashable {
        var link: UInt16
        var owner: ObjectNumber
    }

    /// Nil for an owner without members.
    private var known: [Place: Rank?] = [:]

    /// The last rank; nil where it is not known, nil inside where there is no member.
    func last(_ link: UInt16, of owner: ObjectNumber) -> Rank?? {
        known[Place(link: link, owner: owner)]
    }

    /// Notes what was found in the store.
    mutating func note(_ last: Rank?, _ link: UInt16, of owner: ObjectNumber) {
        if known.count >= Self.capacity { known.removeAll(keepingCapacity: true) }
        known[Place(link: link, owner: owner)] = .some(last)
    }

    /// Notes that a member came with a rank.
    mutating func add(_ rank: Rank, _ link: UInt16, of owner: ObjectNumber) {
        if known.isEmpty { return }
        let place = Place(link: link, owner: owner)
        guard let last = known[place] else { return }
        known[place] = .some(last.map { max($0, rank) } ?? rank)
    }

    /// Notes that a member went: if it may have been the last one, who is it now is not known.
    mutating func remove(_ rank: Rank?, _ link: UInt16, of owner: ObjectNumber) {
        if known.isEmpty { return }
        let place = Place(link: link, owner: owner)
        guard let last = known[place], let last else { return }
        if let rank, rank < last { return }
        known[place] = nil
    }

    /// Forgets everything, as when the store went back or has another model.
    mutating func removeAll() { known.removeAll() }
}

extension Store {
    /// The last rank of an ordered relationship; nil where there is no member.
    ///
    /// Throws `damaged` for a link without a rank. Cost: nothing to speak of where it is known; else reads all links of the owner.
    public func lastRank(
        of owner: ObjectNumber, _ relationship: CompiledRelationship
    ) throws(StoreError) -> Rank? {
        if let last = lastRanks.last(relationship.linkID, of: owner) { return last }
        let last = try places(of: owner, relationship).last?.rank
        lastRanks.note(last, relationship.linkID, of: owner)
        return last
    }
}
