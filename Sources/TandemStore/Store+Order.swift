public import TandemModel

/// The order of ordered to-many relationships, from the open write transaction.
extension Store {
    /// The members of an ordered relationship with their ranks, in their order.
    ///
    /// Throws `damaged` for a link without a rank. Cost: reads all links of the owner, and sorts them.
    public func places(
        of owner: ObjectNumber, _ relationship: CompiledRelationship
    ) throws(StoreError) -> [RankPlan.Place] {
        var places: [RankPlan.Place] = []
        let prefix = StoreKey.links(relationship.linkID, of: owner)
        try current.scan(tables.links, prefix: prefix) { (key, value) throws(StoreError) -> Bool in
            let member = try object(endOf: key, value, in: .links)
            places.append((member, try rank(value, of: member.number)))
            return true
        }
        return places.sorted(by: RankPlan.isBefore)
    }

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

    /// The rank of a member of an ordered relationship; nil for what is no member.
    public func rank(
        of member: ObjectNumber, in owner: ObjectNumber, _ relationship: CompiledRelationship
    ) throws(StoreError) -> Rank? {
        let key = SmallKey(link: relationship.linkID, owner, member)
        guard let value = try current.get(tables.links, key) else { return nil }
        return try rank(value, of: member)
    }
}
