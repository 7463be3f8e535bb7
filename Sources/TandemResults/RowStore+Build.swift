extension RowStore {
    /// Makes a store of rows in any order, in O(n) if they are sorted; of rows with the same number
    /// the last one counts.
    init(sectioned: Bool, rows: [ResultRow]) {
        self.init(sectioned: sectioned)
        fill(with: rows.isSortedByKey ? rows : rows.sorted { $0.precedes($1) })
        guard home.count < rows.count else { return }
        var last: [UInt64: ResultRow] = [:]
        for row in rows { last[row.number] = row }
        self.init(sectioned: sectioned)
        fill(with: last.values.sorted { $0.precedes($1) })
    }

    /// Puts sorted rows into an empty store.
    private mutating func fill(with rows: [ResultRow]) {
        home.reserveCapacity(rows.count)
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

    /// The end of the run of rows that belong to the section of the first one.
    private func endOfRun(in rows: [ResultRow], from start: Int) -> Int {
        guard isSectioned else { return rows.count }
        let name = rows[start].section
        return rows[start...].firstIndex { $0.section != name } ?? rows.count
    }

    /// Appends sorted rows to a section, in leaves without slack.
    private mutating func append(_ rows: ArraySlice<ResultRow>, to slot: Int) {
        if isSectioned && sections[slot].count == 0 {
            order.append(SectionRef(slot: UInt32(slot), count: 0))
        }
        var rest = rows
        while !rest.isEmpty {
            let part = rest.prefix(Leaf.bulkFill)
            rest = rest.dropFirst(part.count)
            let leaf = add(Leaf(section: UInt32(slot), rows: part))
            for row in part { home[row.number] = UInt32(leaf) }
            sections[slot].leaves.append(LeafRef(leaf: UInt32(leaf), count: UInt32(part.count)))
        }
        sections[slot].count += rows.count
        if !isSectioned { order[0].count = UInt32(sections[slot].count) }
    }

    /// The first section, in order, that goes on behind the start of the next one.
    ///
    /// With `slots`, only they and their neighbours are looked at: enough if the list was in order
    /// before those sections were changed.
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

    /// Whether the section at an index goes on behind the start of the next one.
    private func overlapsNext(_ index: Int) -> Bool {
        guard let ref = sections[Int(order[index].slot)].leaves.last else { return false }
        let last = leaves[Int(ref.leaf)]
        let next = leaves[Int(sections[Int(order[index + 1].slot)].leaves[0].leaf)]
        return next.withKey(0) {
            last.order(last.entries.count - 1, to: $0, next.entries[0].number) > 0
        }
    }

    private func disorder(at index: Int) -> OutOfOrderSection {
        let slot = Int(order[index].slot)
        let other = sections[Int(order[index + 1].slot)]
        let start = Place(slot: slot, leafIndex: 0, leaf: Int(other.leaves[0].leaf), at: 0)
        let begin = row(at: start)
        var place = place(in: slot, begin.sortKey, begin.number)
        if place.at == leaves[place.leaf].entries.count {
            place.leaf = Int(sections[slot].leaves[place.leafIndex + 1].leaf)
            place.at = 0
        }
        let entry = leaves[place.leaf].entries[place.at]
        return OutOfOrderSection(
            section: sections[slot].name, interruptedBy: other.name, number: entry.number,
            entityTag: entry.tag)
    }
}

extension [ResultRow] {
    fileprivate var isSortedByKey: Bool {
        zip(self, dropFirst()).allSatisfy { $0.precedes($1) }
    }
}
