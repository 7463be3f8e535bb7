import TandemModel

/// The order of ordered to-many relationships, including all edits.
extension ManagedObjectContext {
    /// Returns the members of a to-many relationship in order, or nil if they have to be loaded
    /// first.
    ///
    /// The result includes the edits of both ends. Members without a rank come last; members of an
    /// unordered relationship are sorted by number.
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

    /// Returns the rank of a member, or nil if it was added without one.
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

    /// Replaces the members of an ordered relationship, with the fewest edits that produce the
    /// order.
    ///
    /// A member that occurs twice keeps its first place. Deleted objects are left out.
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

    /// Gives new ranks to the members that need one for the order.
    private func arrange(_ wanted: [ObjectReference], _ slot: Int, of record: ObjectRecord) {
        var left = members(of: record, slot) ?? []
        let order = wanted.filter { left.remove($0) != nil }
        place(RankPlan(order.map { places(of: $0, in: record, slot) }).changed, slot, of: record)
    }

    /// Sets ranks of members of an ordered relationship.
    func place(_ places: [ObjectReference: Rank], _ slot: Int, of record: ObjectRecord) {
        guard !record.isGone, !places.isEmpty else { return }
        edit(record, slot) { $0.place(places, in: slot) }
    }
}
