import TandemQuery

extension RowStore {
    /// The maximum number of rows for which capacity is reserved in advance, regardless of the
    /// count that the answer announces.
    private static let mostExpected = 1 << 20

    /// Appends the objects of a chunk; `names` are those of all sections.
    ///
    /// All rows of the store must have been added this way. Returns false if the rows do not form a
    /// list: if they are out of order (by key, then number), a number occurs twice, or a section
    /// occurs again. In that case the store is unusable. Cost: O(n), without an allocation per row:
    /// leaves copy their parts of the columns.
    mutating func append(_ part: ListPlacements, names: [String], expecting total: Int) -> Bool {
        if part.count == 0 { return true }
        guard part.isInOrder, isBehindRows(part) else { return false }
        makeRoom(for: part.count, sections: names.count, expecting: total)
        let (leaf, at) = (max(leaves.count - 1, 0), leaves.last?.count ?? 0)
        guard appendRuns(of: part, names), enter(from: leaf, at) else { return false }
        checkInvariants()
        return true
    }

    /// Returns whether the first object of a chunk sorts after the last row.
    private func isBehindRows(_ part: ListPlacements) -> Bool {
        guard let last = leaves.last else { return true }
        return part.withKeys { keys, ends in
            let key = UnsafeRawBufferPointer(rebasing: keys[..<Int(ends[0])])
            return last.order(last.count - 1, to: key, part.numbers[0]) < 0
        }
    }

    /// Reserves capacity in `home`: for all announced rows at once, but for at most `mostExpected`
    /// before they arrive.
    private mutating func makeRoom(for more: Int, sections: Int, expecting total: Int) {
        if home.hasRoom(for: more) { return }
        let least = home.count + more
        let room = least > total ? 2 * least : min(total, max(2 * least, Self.mostExpected))
        // Every section may end with a leaf that is not full.
        let most = room / Leaf.bulkFill + min(sections, room) + 1
        home = NumberTable(room: room, places: 2 * most)
        _ = enter(from: 0, 0)
    }

    /// Appends a chunk section by section; returns false if a section occurs again or has no name.
    private mutating func appendRuns(of part: ListPlacements, _ names: [String]) -> Bool {
        let whole = [ListPlacements.Run(end: part.count, value: 0)]
        var start = 0
        for run in isSectioned ? part.sectionRuns : whole where run.end > start {
            guard !isSectioned || Int(run.value) < names.count else { return false }
            let slot = slot(named: isSectioned ? names[Int(run.value)] : "")
            guard sections[slot].count == 0 || Int(order[order.count - 1].slot) == slot else {
                return false
            }
            append(part, start..<run.end, to: slot)
            start = run.end
        }
        return true
    }

    /// Appends objects to the last section, or to an empty one.
    private mutating func append(_ part: ListPlacements, _ range: Range<Int>, to slot: Int) {
        if isSectioned, sections[slot].count == 0 {
            sections[slot].hint = order.count
            order.append(SectionRef(slot: UInt32(slot), count: 0))
        }
        let begin = fillLastLeaf(of: slot, part, range)
        for start in stride(from: begin, to: range.upperBound, by: Leaf.bulkFill) {
            let piece = start..<min(start + Leaf.bulkFill, range.upperBound)
            let leaf = add(Leaf(section: UInt32(slot), places: part, piece))
            leaves[leaf].hint = UInt32(sections[slot].leaves.count)
            sections[slot].leaves.append(LeafRef(leaf: UInt32(leaf), count: UInt32(piece.count)))
        }
        sections[slot].count += range.count
        order[order.count - 1].count = UInt32(sections[slot].count)
    }

    /// Fills the last leaf of a section, so that the division into leaves does not depend on
    /// chunks; returns the end of the objects used.
    private mutating func fillLastLeaf(
        of slot: Int, _ part: ListPlacements, _ range: Range<Int>
    ) -> Int {
        let index = sections[slot].leaves.count - 1
        guard index >= 0 else { return range.lowerBound }
        let leaf = Int(sections[slot].leaves[index].leaf)
        let lacking = Leaf.bulkFill - leaves[leaf].count
        guard lacking > 0 else { return range.lowerBound }
        let end = min(range.lowerBound + lacking, range.upperBound)
        leaves[leaf].append(
            Leaf(section: UInt32(slot), places: part, range.lowerBound..<end))
        leaves[leaf].hint = UInt32(index)
        sections[slot].leaves[index].count = UInt32(leaves[leaf].count)
        return end
    }
}

extension ListPlacements {
    /// Whether each object sorts after the previous one, by key and then number.
    fileprivate var isInOrder: Bool {
        withKeys { keys, ends in
            var last = UnsafeRawBufferPointer(start: nil, count: 0)
            var start = 0
            for index in 0..<count {
                let end = Int(ends[index])
                let key = UnsafeRawBufferPointer(rebasing: keys[start..<end])
                if index > 0 {
                    let order = compareKeys(last, key)
                    if order > 0 || order == 0 && numbers[index - 1] >= numbers[index] {
                        return false
                    }
                }
                (last, start) = (key, end)
            }
            return true
        }
    }
}
