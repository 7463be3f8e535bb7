import TandemModel

/// A cache of the last rank of ordered relationships, by relationship and owner.
///
/// With it, appending to a relationship needs no scan of all members. The cached ranks are exact:
/// every applied link change updates them, and an entry is removed if its new last rank is unknown.
struct LastRankCache {
    /// The maximum number of cached owners; a full cache is emptied.
    private static let capacity = 4_096

    private struct Key: Hashable {
        var link: UInt16
        var owner: ObjectNumber
    }

    /// The value is nil for an owner without members.
    private var ranks: [Key: Rank?] = [:]

    /// Returns the last rank of an owner's members.
    ///
    /// The outer optional is nil if the rank isn't cached, and the inner one if the owner has no
    /// members.
    func last(_ link: UInt16, of owner: ObjectNumber) -> Rank?? {
        ranks[Key(link: link, owner: owner)]
    }

    /// Caches a last rank that was read from the store.
    mutating func cache(_ last: Rank?, _ link: UInt16, of owner: ObjectNumber) {
        if ranks.count >= Self.capacity { ranks.removeAll(keepingCapacity: true) }
        ranks[Key(link: link, owner: owner)] = .some(last)
        assert(ranks.count <= Self.capacity, "A full cache is emptied before an owner is added.")
    }

    /// Records that a member was added with a rank.
    mutating func add(_ rank: Rank, _ link: UInt16, of owner: ObjectNumber) {
        if ranks.isEmpty { return }
        let key = Key(link: link, owner: owner)
        guard let last = ranks[key] else { return }
        ranks[key] = .some(last.map { max($0, rank) } ?? rank)
    }

    /// Records that a member was removed.
    ///
    /// Removes the owner's entry if the member may have been the last one.
    mutating func remove(_ rank: Rank?, _ link: UInt16, of owner: ObjectNumber) {
        if ranks.isEmpty { return }
        let key = Key(link: link, owner: owner)
        guard let last = ranks[key], let last else { return }
        if let rank, rank < last { return }
        ranks[key] = nil
    }

    /// Empties the cache, for example after a revert or a model change.
    mutating func removeAll() { ranks.removeAll() }
}
