/// The invariants of a ``RowStore``, which hold between its edits.
extension RowStore {
    /// Asserts that the store's counts are consistent; called after every edit of a row.
    func checkInvariants() {
        assert(
            isSectioned || order.count == 1 && order[0].slot == 0,
            "A list without sections has one, which may be empty.")
        assert(
            isSectioned || order[0].count == UInt32(home.count),
            "The only section has all rows.")
    }

    /// Asserts, for all rows, the invariants listed in the store's description; called after every
    /// merged edit.
    func checkAllRows() {
        // Enough rows for several leaves of a section.
        guard Invariants.walk(count, upTo: 300) else { return }
        assert(sectionsAreSorted, "The sections with rows are in the order of their first rows.")
        assert(leavesFitSections, "Each leaf has rows and belongs to one section, or is free.")
        assert(homeIsComplete, "`home` has the leaf of every number, and nothing else.")
    }

    /// Asserts that a leaf is the one that its section has at a location.
    func checkInvariants(at place: LeafLocation) {
        assert(
            sections[place.slot].leaves[place.leafIndex].leaf == UInt32(place.leaf),
            "A location names the leaf at its index in the section.")
        assert(
            withLeaf(place.leaf) { Int($0.section) } == place.slot,
            "A leaf has the slot of the section that owns it.")
        assert(
            withLeaf(place.leaf) { $0.count }
                == Int(sections[place.slot].leaves[place.leafIndex].count),
            "A section has the row count of each of its leaves.")
    }

    /// Whether `order` lists the sections with rows, sorted by their first row, with their counts.
    private var sectionsAreSorted: Bool {
        let withRows = sections.indices.filter { sections[$0].count > 0 }
        return order.allSatisfy { Int($0.count) == sections[Int($0.slot)].count }
            && (!isSectioned || Set(order.map { Int($0.slot) }) == Set(withRows))
            && zip(order, order.dropFirst()).allSatisfy {
                firstRow(of: Int($0.slot), precedesFirstRowOf: Int($1.slot))
            }
    }

    /// Whether sections and leaves refer to each other, and a section's leaves are sorted and not
    /// empty.
    private var leavesFitSections: Bool {
        var owned = 0
        for (slot, section) in sections.enumerated() {
            owned += section.leaves.count
            guard section.leaves.reduce(0, { $0 + Int($1.count) }) == section.count else {
                return false
            }
            for ref in section.leaves {
                let leaf = leaves[Int(ref.leaf)]
                guard leaf.section == UInt32(slot), leaf.count == Int(ref.count), leaf.count > 0
                else { return false }
            }
            for (ref, next) in zip(section.leaves, section.leaves.dropFirst())
            where order(Int(ref.count) - 1, of: Int(ref.leaf), to: Int(next.leaf)) >= 0 {
                return false
            }
        }
        return owned + freeLeaves.count == leaves.count
            && freeLeaves.allSatisfy { leaves[$0].count == 0 }
    }

    private var homeIsComplete: Bool {
        var count = 0
        for (index, leaf) in leaves.enumerated() {
            count += leaf.count
            for at in 0..<leaf.count {
                let spot = spot(of: leaf.number(at))
                guard spot.map({ $0 == (index, at) }) ?? false else { return false }
            }
        }
        return count == home.count
    }
}
