public import TandemModel

extension SectionedList {
    /// The objects of a part of the list in order, counted over all sections; the range is cut to what there is.
    ///
    /// For who goes through many: one that is asked for by its place is searched each time. O(part), and a search for its start.
    ///
    ///     list.references(in: 0..<list.count)
    public func references(in range: Range<Int>) -> [ObjectReference] {
        let rows = visible
        let range = range.clamped(to: 0..<rows.count)
        var references: [ObjectReference] = []
        references.reserveCapacity(range.count)
        rows.forEach(in: range) { references.append(ObjectReference(tag: $1, number: $0)) }
        return references
    }
}

extension RowStore {
    /// Calls `body` with the number and the tag of each row of a part of the whole list, in order.
    fileprivate func forEach(in range: Range<Int>, _ body: (UInt64, UInt16) -> Void) {
        guard !range.isEmpty else { return }
        let start = path(atOffset: range.lowerBound)
        let place = place(section: start.section, item: start.item)
        var (leaf, at, left) = (place.leafIndex, place.at, range.count)
        for section in order[start.section...] where left > 0 {
            for ref in sections[Int(section.slot)].leaves[leaf...] where left > 0 {
                let end = min(Int(ref.count), at + left)
                withLeaf(Int(ref.leaf)) { rows in
                    for row in at..<end { body(rows.number(row), rows.tag(row)) }
                }
                left -= end - at
                at = 0
            }
            leaf = 0
        }
    }
}
