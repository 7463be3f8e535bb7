public import TandemModel

/// The members and ranks of ordered to-many relationships.
extension StoreView {
    /// Returns the members of an ordered relationship with their ranks, in order.
    ///
    /// Throws `damaged` for a link without a rank, and the error of the budget's check. Cost: reads
    /// and sorts all links of the owner.
    public func places(
        of owner: ObjectNumber, _ relationship: CompiledRelationship, budget: ReadBudget? = nil
    ) throws(StoreError) -> [RankPlan.Place] {
        var places: [RankPlan.Place] = []
        let prefix = StoreKey.links(relationship.linkID, of: owner)
        try current.scan(tables.links, prefix: prefix) { (key, value) throws(StoreError) -> Bool in
            let member = try object(endOf: key, value, in: .links)
            places.append((member, try rank(value, of: member.number)))
            try budget?.check(collected: places)
            return true
        }
        return places.sorted(by: RankPlan.isBefore)
    }

    /// Returns the rank of a member of an ordered relationship, or nil for an object that isn't a
    /// member.
    public func rank(
        of member: ObjectNumber, in owner: ObjectNumber, _ relationship: CompiledRelationship
    ) throws(StoreError) -> Rank? {
        let key = SmallKey(link: relationship.linkID, owner, member)
        guard let value = try current.get(tables.links, key) else { return nil }
        return try rank(value, of: member)
    }
}
