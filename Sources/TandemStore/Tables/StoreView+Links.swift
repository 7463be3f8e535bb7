package import TandemModel

/// Reads of to-many relationships: members and, if they are ordered, ranks.
extension StoreView {
    /// Returns the first `most` members of a to-many relationship, by ascending number.
    ///
    /// Throws the error of the budget's check.
    package func members(
        of owner: ObjectNumber, _ relationship: CompiledRelationship, atMost most: Int = .max,
        budget: ReadBudget? = nil
    ) throws(StoreError) -> [ObjectReference] {
        guard most > 0 else { return [] }
        var members: [ObjectReference] = []
        let prefix = StoreKey.links(relationship.linkID, of: owner)
        try current.scan(tables.links, prefix: prefix) { (key, value) throws(StoreError) -> Bool in
            members.append(
                try decoder.object(endOf: key, value, in: .links, isOrdered: relationship.isOrdered)
            )
            try budget?.check(collected: members)
            return members.count < most
        }
        return members
    }

    /// Returns the number of members of a to-many relationship, counting up to `most`.
    package func memberCount(
        of owner: ObjectNumber, _ relationship: CompiledRelationship, atMost most: Int
    ) throws(StoreError) -> Int {
        let prefix = StoreKey.links(relationship.linkID, of: owner)
        return try count(tables.links, in: KeyRange(prefix: prefix), atMost: most)
    }

    /// Returns whether an object is a member of the owner's relationship.
    package func isMember(
        _ member: ObjectNumber, of owner: ObjectNumber, _ relationship: CompiledRelationship
    ) throws(StoreError) -> Bool {
        try current.get(tables.links, SmallKey(link: relationship.linkID, owner, member)) != nil
    }

    /// Returns the members of an ordered relationship with their ranks, in order.
    ///
    /// Throws `damaged` for a link without a rank, and the error of the budget's check. Cost: reads
    /// and sorts all links of the owner.
    package func rankedMembers(
        of owner: ObjectNumber, _ relationship: CompiledRelationship, budget: ReadBudget? = nil
    ) throws(StoreError) -> [RankPlan.Member] {
        var rankedMembers: [RankPlan.Member] = []
        let prefix = StoreKey.links(relationship.linkID, of: owner)
        try current.scan(tables.links, prefix: prefix) { (key, value) throws(StoreError) -> Bool in
            let member = try decoder.object(endOf: key, value, in: .links)
            rankedMembers.append((member, try decoder.rank(value, of: member.number)))
            try budget?.check(collected: rankedMembers)
            return true
        }
        try (budget ?? ReadBudget()).sort(&rankedMembers, by: RankPlan.isBefore)
        return rankedMembers
    }

    /// Returns the rank of a member of an ordered relationship, or nil for an object that isn't a
    /// member.
    package func rank(
        of member: ObjectNumber, in owner: ObjectNumber, _ relationship: CompiledRelationship
    ) throws(StoreError) -> Rank? {
        let key = SmallKey(link: relationship.linkID, owner, member)
        guard let value = try current.get(tables.links, key) else { return nil }
        return try decoder.rank(value, of: member)
    }
}
