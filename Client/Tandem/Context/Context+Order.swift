import TandemModel

/// The order of ordered to-many relationships, with all edits.
extension ManagedObjectContext {
    /// The members of a to-many relationship with all edits of both ends; nil when the list has to be loaded first.
    ///
    /// In their order; those without a place yet last, and in a relationship without order all by number.
    func membersInOrder(of record: ObjectRecord, _ slot: Int) -> [ObjectReference]? {
        members(of: record, slot).map { members in
            members.map { places(of: $0, in: record, slot) }.sorted(by: RankPlan.isBefore)
                .map(\.member)
        }
    }

    private func places(
        of member: ObjectReference, in record: ObjectRecord, _ slot: Int
    ) -> RankPlan.Place {
        (member, rank(of: member, in: record, slot))
    }

    /// Where a member stands; nil for one that came without a place.
    private func rank(
        of member: ObjectReference, in record: ObjectRecord, _ slot: Int
    ) -> Rank? {
        guard record.entity.properties[slot].relationship?.isOrdered == true else { return nil }
        for edits in [record.pending, record.inFlight] {
            if let rank = edits.ranks[slot]?[member] { return rank }
            if edits.added[slot]?.contains(member) == true { return nil }
        }
        guard let base = record.base else { return record.ranks[slot]?[member] }
        return base.managedObjectContext?.rank(of: member, in: base.record, slot)
    }

    /// Replaces the members of an ordered relationship, in the smallest set of edits that leads to the order.
    ///
    /// What is wanted twice stands where it is named first; objects that are gone are left out.
    func setMembers(_ wanted: [ObjectRecord], _ slot: Int, of record: ObjectRecord) {
        guard !record.isGone else { return }
        undoStack.begin()
        defer { undoStack.end() }
        let before = members(of: record, slot) ?? []
        let news = Set(wanted.map(\.reference))
        for member in before.subtracting(news).sorted() {
            remove(self.record(member), from: slot, of: record)
        }
        for member in wanted where !before.contains(member.reference) {
            add(member, to: slot, of: record)
        }
        arrange(wanted.map(\.reference), slot, of: record)
    }

    /// Gives those members other places that have to have some for an order.
    private func arrange(_ wanted: [ObjectReference], _ slot: Int, of record: ObjectRecord) {
        var left = members(of: record, slot) ?? []
        let order = wanted.filter { left.remove($0) != nil }
        place(RankPlan(order.map { places(of: $0, in: record, slot) }).changed, slot, of: record)
    }

    /// Gives members of an ordered relationship places.
    func place(_ places: [ObjectReference: Rank], _ slot: Int, of record: ObjectRecord) {
        guard !record.isGone, !places.isEmpty else { return }
        edit(record, slot) { $0.place(places, in: slot) }
    }
}
