package import TandemModel

extension SectionedList {
    /// Returns the objects in a range of the whole list, in order; the range is clamped to the
    /// list.
    ///
    /// For many objects, this is faster than looking up each object by its offset. Cost: a search
    /// for the start of the range, then O(range).
    ///
    ///     list.references(in: 0..<list.count)
    package func references(in range: Range<Int>) -> [ObjectReference] {
        let rows = visible
        let range = range.clamped(to: 0..<rows.count)
        var references: [ObjectReference] = []
        references.reserveCapacity(range.count)
        rows.forEach(in: range) { references.append(ObjectReference(tag: $1, number: $0)) }
        return references
    }
}

extension RowStore {
    /// Calls `body` with the number and the tag of each row in a range of the whole list, in order.
    fileprivate func forEach(in range: Range<Int>, _ body: (UInt64, UInt16) -> Void) {
        guard !range.isEmpty else { return }
        let start = path(atOffset: range.lowerBound)
        let place = location(section: start.section, item: start.item)
        var (leaf, at, left) = (place.leafIndex, place.at, range.count)
        for section in sections.order[start.section...] where left > 0 {
            for ref in sections.slots[Int(section.slot)].leaves[leaf...] where left > 0 {
                let end = min(Int(ref.count), at + left)
                withLeaf(Int(ref.leaf)) { rows in
                    for row in at..<end { body(rows.number(row), rows.tag(row)) }
                }
                left -= end - at
                at = 0
            }
            leaf = 0
        }
        assert(left == 0, "The range is in the list.")
    }
}
