import TandemIO
import TandemModel

/// Writes links, and caches the last ranks of ordered relationships.
final class LinkWriter {
    private let table: LMDBTable
    /// Last ranks of ordered relationships, as of the open transaction.
    private var lastRanks = LastRankCache()

    init(_ table: LMDBTable) { self.table = table }

    /// Empties the cache of ranks; required after a transaction was aborted or links were written
    /// directly.
    func forgetCached() { lastRanks.removeAll() }

    /// Writes a change of an object's link.
    func apply(
        _ link: LinkChange, of object: ObjectReference, _ entity: CompiledEntity,
        _ open: LMDBTransaction
    ) throws(StoreError) {
        guard let relationship = entity.properties[link.slot].relationship else { return }
        let key = SmallKey(link: relationship.linkID, object.number, link.target.number)
        guard link.isAdded else {
            lastRanks.remove(link.rank, relationship.linkID, of: object.number)
            return _ = try open.delete(table, key)
        }
        guard let rank = link.rank else {
            return try open.put(table, key, tag: link.target.tag)
        }
        lastRanks.add(rank, relationship.linkID, of: object.number)
        try open.put(table, key, count: 2 + rank.bytes.count) { value in
            value.storeBytes(of: link.target.tag.bigEndian, as: UInt16.self)
            UnsafeMutableRawBufferPointer(rebasing: value[2...]).copyBytes(from: rank.bytes)
        }
    }

    /// Removes the link from an owner to a member.
    func remove(
        _ link: UInt16, from owner: ObjectNumber, to member: ObjectNumber, _ open: LMDBTransaction
    ) throws(StoreError) {
        try open.delete(table, SmallKey(link: link, owner, member))
    }

    /// Returns the last rank of an ordered relationship, or nil if it has no members.
    func lastRank(
        of owner: ObjectNumber, _ relationship: CompiledRelationship, in view: StoreView
    ) throws(StoreError) -> Rank? {
        if let last = lastRanks.last(relationship.linkID, of: owner) {
            assert(
                isLastRank(last, of: owner, relationship, view),
                "A cached rank equals the last member's.")
            return last
        }
        let last = try view.rankedMembers(of: owner, relationship).last?.rank
        lastRanks.cache(last, relationship.linkID, of: owner)
        return last
    }

    /// Returns whether `last` is the rank of an owner's last member.
    ///
    /// The result is also true if invariants are not verified, if the owner has many members, or if
    /// they can't be read.
    private func isLastRank(
        _ last: Rank?, of owner: ObjectNumber, _ relationship: CompiledRelationship,
        _ view: StoreView
    ) -> Bool {
        guard Invariants.walk(1),
            let count = try? view.memberCount(of: owner, relationship, atMost: .max),
            Invariants.walk(count),
            let rankedMembers = try? view.rankedMembers(of: owner, relationship)
        else { return true }
        return rankedMembers.last?.rank == last
    }
}
