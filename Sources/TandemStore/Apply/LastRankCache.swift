import TandemModel

/// A cache of the last rank of ordered relationships, by relationship and owner.
///
/// With it, appending to a relationship needs no scan of all members. The cached ranks are exact:
/// every applied link change updates them, and an entry is removed if its new last rank is unknown.
struct LastRankCache {
    /// The maximum number of cached owners; a full cache is emptied.
    private static let capacity = 4_096

    private struct Place: Hashable {
        var link: UInt16
        var owner: ObjectNumber
    }

    /// The value is nil for an owner without members.
    private var known: [Place: Rank?] = [:]

    /// Returns the last rank of an owner's members.
    ///
    /// The outer optional is nil if the rank isn't cached, and the inner one if the owner has no
    /// members.
    func last(_ link: UInt16, of owner: ObjectNumber) -> Rank?? {
        known[Place(link: link, owner: owner)]
    }

    /// Caches a last rank that was read from the store.
    mutating func cache(_ last: Rank?, _ link: UInt16, of owner: ObjectNumber) {
        if known.count >= Self.capacity { known.removeAll(keepingCapacity: true) }
        known[Place(link: link, owner: owner)] = .some(last)
        assert(known.count <= Self.capacity, "A full cache is emptied before an owner is added.")
    }

    /// Records that a member was added with a rank.
    mutating func add(_ rank: Rank, _ link: UInt16, of owner: ObjectNumber) {
        if known.isEmpty { return }
        let place = Place(link: link, owner: owner)
        guard let last = known[place] else { return }
        known[place] = .some(last.map { max($0, rank) } ?? rank)
    }

    /// Records that a member was removed.
    ///
    /// Removes the owner's entry if the member may have been the last one.
    mutating func remove(_ rank: Rank?, _ link: UInt16, of owner: ObjectNumber) {
        if known.isEmpty { return }
        let place = Place(link: link, owner: owner)
        guard let last = known[place], let last else { return }
        if let rank, rank < last { return }
        known[place] = nil
    }

    /// Empties the cache, for example after a revert or a model change.
    mutating func removeAll() { known.removeAll() }
}
