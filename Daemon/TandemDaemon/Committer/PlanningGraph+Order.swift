import TandemModel
import TandemStore

/// The order of ordered to-many relationships while a save is planned.
extension PlanningGraph {
    /// Records the requested rank of a member; it has no effect unless the object is a member after
    /// the save.
    ///
    /// Throws `usage` for a relationship without order.
    func setRank(
        _ member: ObjectReference, in owner: ObjectReference, _ slot: Int, at rank: Rank
    ) throws {
        let relationship = try toMany(owner, slot)
        guard relationship.isOrdered else {
            throw TandemError(
                .usage,
                "\(model.id(of: owner)).\(relationship.declaration.name) is not ordered; leave out "
                    + "the ranks of its members")
        }
        objects[owner.number]?.setRank(member, in: slot, at: rank)
    }

    /// Sets the ranks of all added, removed and moved members, after everything else is planned.
    ///
    /// Cost: a point read for each of these members. If members were added without a rank and the
    /// last rank is unknown, all links of the owner are read.
    func setFinalRanks(_ objects: [PlanningObject]) throws {
        for working in objects {
            for index in working.links.indices {
                let slot = working.links[index].slot
                guard let relationship = working.entity.properties[slot].relationship,
                    relationship.isOrdered
                else { continue }
                let delta = working.links[index]
                working.setRanks(slot, try ranks(of: working, delta, relationship))
            }
        }
    }

    private func ranks(
        of owner: PlanningObject, _ delta: LinkDelta,
        _ relationship: CompiledRelationship
    ) throws -> LinkDelta.RankDelta {
        var ranks = LinkDelta.RankDelta()
        func stored(_ member: ObjectReference) throws -> Rank? {
            guard !owner.isInserted else { return nil }
            return try store.rank(of: member.number, in: owner.object.number, relationship)
        }
        for member in delta.removed.inOrder { ranks.before[member] = try stored(member) }
        for (member, wanted) in delta.requestedRanks where !delta.removed.contains(member) {
            if delta.added.contains(member) {
                ranks.after[member] = wanted
            } else if let before = try stored(member), before != wanted {
                ranks.before[member] = before
                ranks.after[member] = wanted
            }
        }
        let last = delta.added.inOrder.filter { delta.requestedRanks[$0] == nil }
        if !last.isEmpty, !owner.isDeleted { try append(last, to: owner, relationship, &ranks) }
        assert(
            owner.isDeleted || delta.added.inOrder.allSatisfy { ranks.after[$0] != nil },
            "Each added member has a rank.")
        return ranks
    }

    /// Returns ranks after those of all members, or nil if such ranks would be too long.
    private func appendedRanks(
        afterAllOf owner: PlanningObject, _ relationship: CompiledRelationship,
        _ ranks: LinkDelta.RankDelta, count: Int
    ) throws -> [Rank]? {
        let stored =
            owner.isInserted ? nil : try store.lastRank(of: owner.object.number, relationship)
        let last = (ranks.after.values + [stored].compactMap(\.self)).max()
        return Rank.between(last, nil, count: count, limit: Rank.byteLimit / 2)
    }

    /// Appends members at the end; if their ranks would be too long, other members get new ranks,
    /// too.
    private func append(
        _ members: [ObjectReference], to owner: PlanningObject,
        _ relationship: CompiledRelationship, _ ranks: inout LinkDelta.RankDelta
    ) throws {
        if let appended = try appendedRanks(
            afterAllOf: owner, relationship, ranks, count: members.count)
        {
            assert(appended.count == members.count, "Each appended member gets a rank.")
            ranks.after.merge(zip(members, appended)) { $1 }
            return
        }
        let stored =
            owner.isInserted ? [] : try store.rankedMembers(of: owner.object.number, relationship)
        let staying = stored.filter { ranks.before[$0.member] == nil }
        let placed = ranks.after.map { RankPlan.Member(member: $0.key, rank: $0.value) }
        let all = (staying + placed).sorted(by: RankPlan.isBefore)
        let plan = RankPlan(all + members.map { ($0, nil) })
        let before = Dictionary(
            uniqueKeysWithValues: staying.map { ($0.member, $0.rank) })
        for (member, rank) in plan.changed {
            ranks.after[member] = rank
            if let old = before[member] ?? nil { ranks.before[member] = old }
        }
    }
}
