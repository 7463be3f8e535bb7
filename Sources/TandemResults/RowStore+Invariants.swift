/// The invariants of a ``RowStore``, which hold between its edits.
extension RowStore {
    /// Asserts that the store's counts are consistent; called after every edit of a row.
    func checkInvariants() { sections.checkInvariants(count) }

    /// Asserts the invariants of ``RowStore`` for all rows; called after every edit.
    func checkAllRows() {
        // The limit allows for several leaves in a section.
        guard Invariants.walk(count, upTo: 300) else { return }
        sections.checkAllSections()
        assert(sectionsAreSorted, "The sections with rows are sorted by their first rows.")
        assert(leavesFitSections, "Each leaf has rows and belongs to one section, or is free.")
        leaves.checkAllRows()
    }

    /// Asserts that a location, its leaf and its section are consistent with each other.
    func checkInvariants(at place: LeafLocation) {
        assert(
            sections.slots[place.slot].leaves[place.leafIndex].leaf == UInt32(place.leaf),
            "A location has the leaf at its index in the section.")
        assert(
            withLeaf(place.leaf) { Int($0.section) } == place.slot,
            "A leaf has its section's slot.")
        assert(
            withLeaf(place.leaf) { $0.count }
                == Int(sections.slots[place.slot].leaves[place.leafIndex].count),
            "A section has the number of rows of each of its leaves.")
    }

    /// Whether the sections with rows are sorted by their first row.
    private var sectionsAreSorted: Bool {
        zip(sections.order, sections.order.dropFirst()).allSatisfy {
            firstRow(of: Int($0.slot), precedesFirstRowOf: Int($1.slot))
        }
    }

    /// Whether sections and leaves refer to each other, and a section's leaves are sorted and not
    /// empty.
    private var leavesFitSections: Bool {
        var owned = 0
        for (slot, section) in sections.slots.enumerated() {
            owned += section.leaves.count
            for ref in section.leaves {
                let leaf = leaves.slots[Int(ref.leaf)]
                guard leaf.section == UInt32(slot), leaf.count == Int(ref.count), leaf.count > 0
                else { return false }
            }
            for (ref, next) in zip(section.leaves, section.leaves.dropFirst())
            where leaves.order(Int(ref.count) - 1, of: Int(ref.leaf), to: Int(next.leaf)) >= 0 {
                return false
            }
        }
        return owned + leaves.free.count == leaves.slots.count
    }
}
