/// The search for sections that overlap.
extension RowStore {
    /// Returns the first section, in order, that continues after the start of the next one.
    ///
    /// If `slots` is given, only these sections and their neighbours are checked, which suffices if
    /// the list was in order before they changed.
    func firstDisorder(among slots: [Int]? = nil) -> OutOfOrderSection? {
        guard isSectioned, sections.order.count > 1 else { return nil }
        guard let slots else {
            return sections.order.indices.dropLast().first(where: overlapsNext).map(disorder)
        }
        var first = Int.max
        for slot in slots where sections.slots[slot].count > 0 {
            let index = sectionIndex(of: slot)
            for at in [index - 1, index]
            where at >= 0 && at + 1 < sections.order.count && at < first {
                if overlapsNext(at) { first = at }
            }
        }
        return first == .max ? nil : disorder(at: first)
    }

    /// Returns whether the section at an index continues after the start of the next one.
    private func overlapsNext(_ index: Int) -> Bool {
        guard let last = sections.slots[Int(sections.order[index].slot)].leaves.last else {
            return false
        }
        let next = sections.slots[Int(sections.order[index + 1].slot)].leaves[0]
        return leaves.order(Int(last.count) - 1, of: Int(last.leaf), to: Int(next.leaf)) > 0
    }

    private func disorder(at index: Int) -> OutOfOrderSection {
        let slot = Int(sections.order[index].slot)
        let other = sections.slots[Int(sections.order[index + 1].slot)]
        let start = LeafLocation(slot: slot, leafIndex: 0, leaf: Int(other.leaves[0].leaf), at: 0)
        let begin = row(at: start)
        var place = location(in: slot, begin.sortKey, begin.number)
        if place.at == withLeaf(place.leaf, { $0.count }) {
            place.leaf = Int(sections.slots[slot].leaves[place.leafIndex + 1].leaf)
            place.at = 0
        }
        return withLeaf(place.leaf) { leaf in
            OutOfOrderSection(
                section: name(of: slot), interruptedBy: other.name,
                number: leaf.number(place.at), entityTag: leaf.tag(place.at))
        }
    }
}
