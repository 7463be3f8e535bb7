extension RowStore {
    /// Creates a store of rows in any order, in O(n) if they are sorted; if rows have the same
    /// number, the last one wins.
    init(sectioned: Bool, rows: [ResultRow]) {
        self.init(sectioned: sectioned)
        fill(with: rows.isSortedByKey ? rows : rows.sorted { $0.precedes($1) })
        defer { checkInvariants() }
        if fillHome() { return }
        var last: [UInt64: ResultRow] = [:]
        for row in rows { last[row.number] = row }
        self.init(sectioned: sectioned)
        fill(with: last.values.sorted { $0.precedes($1) })
        let isUnique = fillHome()
        assert(isUnique, "The last row of each number is filled in.")
    }

    /// Enters every number's leaf into a new `home`; returns false if a number is in the store
    /// twice.
    mutating func fillHome() -> Bool {
        let count = leaves.reduce(0) { $0 + $1.count }
        // An edited store gets room for enough further edits to make the rebuild worthwhile.
        let room = home.count == 0 ? count : count + count / 4 + 8
        home = NumberTable(room: room, places: leaves.count * 2)
        return enter(from: 0, 0)
    }

    /// Enters the numbers of the rows from a location on into `home`, which has room for them.
    ///
    /// Returns false if a number is in the store twice.
    mutating func enter(from first: Int, _ start: Int) -> Bool {
        // Moved out of `self`, so that leaves can be read in the meantime.
        var home = NumberTable()
        swap(&home, &self.home)
        defer { swap(&home, &self.home) }
        for leaf in first..<leaves.count {
            let rows = leaves[leaf]
            for at in (leaf == first ? start : 0)..<rows.count {
                let number = rows.number(at)
                let isNew = home.insertNew(number, at: leaf) { other in
                    let known = withLeaf(other) { $0.position(of: number) }
                    return known.map { (other, $0) != (leaf, at) } ?? false
                }
                if !isNew { return false }
            }
        }
        return true
    }

    /// Adds sorted rows to an empty store.
    private mutating func fill(with rows: [ResultRow]) {
        var start = 0
        while start < rows.count {
            let end = endOfRun(in: rows, from: start)
            append(rows[start..<end], to: slot(named: rows[start].section))
            start = end
        }
        guard isSectioned else { return }
        for index in order.indices {
            let slot = Int(order[index].slot)
            order[index].count = UInt32(sections[slot].count)
            sections[slot].hint = index
        }
    }

    /// Returns the end of the run of rows that belong to the section of the first one.
    private func endOfRun(in rows: [ResultRow], from start: Int) -> Int {
        guard isSectioned else { return rows.count }
        let name = rows[start].section
        return rows[start...].firstIndex { $0.section != name } ?? rows.count
    }

    /// Appends sorted rows to a section, in leaves without spare capacity.
    private mutating func append(_ rows: ArraySlice<ResultRow>, to slot: Int) {
        if isSectioned && sections[slot].count == 0 {
            order.append(SectionRef(slot: UInt32(slot), count: 0))
        }
        var rest = rows
        while !rest.isEmpty {
            let part = rest.prefix(Leaf.bulkFill)
            rest = rest.dropFirst(part.count)
            let leaf = add(Leaf(section: UInt32(slot), rows: part))
            leaves[leaf].hint = UInt32(sections[slot].leaves.count)
            sections[slot].leaves.append(LeafRef(leaf: UInt32(leaf), count: UInt32(part.count)))
        }
        sections[slot].count += rows.count
        if !isSectioned { order[0].count = UInt32(sections[slot].count) }
    }

    /// Returns the first section, in order, that continues after the start of the next one.
    ///
    /// With `slots`, only these sections and their neighbours are checked, which is enough if the
    /// list was in order before those sections were changed.
    func firstDisorder(among slots: [Int]? = nil) -> OutOfOrderSection? {
        guard isSectioned, order.count > 1 else { return nil }
        guard let slots else {
            return order.indices.dropLast().first(where: overlapsNext).map(disorder)
        }
        var first = Int.max
        for slot in slots where sections[slot].count > 0 {
            let index = sectionIndex(of: slot)
            for at in [index - 1, index] where at >= 0 && at + 1 < order.count && at < first {
                if overlapsNext(at) { first = at }
            }
        }
        return first == .max ? nil : disorder(at: first)
    }

    /// Returns whether the section at an index continues after the start of the next one.
    private func overlapsNext(_ index: Int) -> Bool {
        guard let last = sections[Int(order[index].slot)].leaves.last else { return false }
        let next = sections[Int(order[index + 1].slot)].leaves[0]
        return self.order(Int(last.count) - 1, of: Int(last.leaf), to: Int(next.leaf)) > 0
    }

    private func disorder(at index: Int) -> OutOfOrderSection {
        let slot = Int(order[index].slot)
        let other = sections[Int(order[index + 1].slot)]
        let start = LeafLocation(slot: slot, leafIndex: 0, leaf: Int(other.leaves[0].leaf), at: 0)
        let begin = row(at: start)
        var place = location(in: slot, begin.sortKey, begin.number)
        if place.at == leaves[place.leaf].count {
            place.leaf = Int(sections[slot].leaves[place.leafIndex + 1].leaf)
            place.at = 0
        }
        let leaf = leaves[place.leaf]
        return OutOfOrderSection(
            section: sections[slot].name, interruptedBy: other.name,
            number: leaf.number(place.at), entityTag: leaf.tag(place.at))
    }
}

extension [ResultRow] {
    fileprivate var isSortedByKey: Bool {
        zip(self, dropFirst()).allSatisfy { $0.precedes($1) }
    }
}
