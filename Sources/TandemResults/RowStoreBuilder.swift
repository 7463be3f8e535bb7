import TandemQuery

/// Builds a store of rows from sorted rows or from the chunks of an answer.
///
/// Leaves are filled one after the other, without spare capacity; the numbers of their rows are
/// added to the table afterwards.
struct RowStoreBuilder: Sendable {
    private var leaves = LeafTable()
    private var sections: SectionTable

    /// The maximum number of rows for which capacity is reserved in advance, regardless of the
    /// count that the answer announces.
    private static let mostExpected = 1 << 20

    init(sectioned: Bool) { sections = SectionTable(sectioned: sectioned) }

    /// The store of the rows so far.
    var store: RowStore { RowStore(leaves, sections) }

    private var isSectioned: Bool { sections.isSectioned }

    // MARK: Rows

    /// Fills an empty store with sorted rows; returns false if a number occurs twice.
    mutating func fill(with rows: [ResultRow]) -> Bool {
        assert(
            !Invariants.walk(rows.count)
                || zip(rows, rows.dropFirst()).allSatisfy { !$1.precedes($0) },
            "The rows are sorted.")
        var start = 0
        while start < rows.count {
            let end = endOfRun(in: rows, from: start)
            append(rows[start..<end], to: sections.slot(named: rows[start].section))
            start = end
        }
        return leaves.rebuildIndex()
    }

    /// Returns the end of the run of rows with the same section as the first one.
    private func endOfRun(in rows: [ResultRow], from start: Int) -> Int {
        guard isSectioned else { return rows.count }
        let name = rows[start].section
        return rows[start...].firstIndex { $0.section != name } ?? rows.count
    }

    /// Appends sorted rows to a section.
    private mutating func append(_ rows: ArraySlice<ResultRow>, to slot: Int) {
        if isSectioned && sections.slots[slot].count == 0 {
            sections.insertIntoOrder(slot, at: sections.order.count)
        }
        var rest = rows
        while !rest.isEmpty {
            let part = rest.prefix(Leaf.bulkFill)
            rest = rest.dropFirst(part.count)
            let hint = sections.slots[slot].leaves.count
            let leaf = leaves.add(Leaf(section: UInt32(slot), rows: part), hint: hint)
            sections.append(leaf, count: part.count, to: slot)
        }
        // A section that is out of order may continue after other sections.
        sections.addRows(rows.count, toSection: isSectioned ? sections.slots[slot].hint : 0)
    }

    // MARK: Chunks

    /// Appends the objects of a chunk; `names` are the names of all sections.
    ///
    /// All rows of the store must have been added this way. Returns false, leaving the store
    /// unusable, if rows are out of order (by key, then number), a number occurs twice, or a
    /// section occurs again after another one. Cost: O(n), without an allocation per row, because
    /// leaves copy ranges of the columns.
    mutating func append(_ part: ListPlacements, names: [String], expecting total: Int) -> Bool {
        if part.count == 0 { return true }
        guard part.isInOrder, sortsAfterRows(part) else { return false }
        makeRoom(for: part.count, sections: names.count, expecting: total)
        let (leaf, at) = (max(leaves.slots.count - 1, 0), leaves.slots.last?.count ?? 0)
        guard appendRuns(of: part, names), leaves.indexRows(from: leaf, at) else { return false }
        sections.checkInvariants(leaves.count)
        return true
    }

    /// Returns whether the first object of a chunk sorts after the last row.
    private func sortsAfterRows(_ part: ListPlacements) -> Bool {
        guard let last = leaves.slots.last else { return true }
        return part.withKeys { keys, ends in
            let key = UnsafeRawBufferPointer(rebasing: keys[..<Int(ends[0])])
            return last.order(last.count - 1, to: key, part.numbers[0]) < 0
        }
    }

    /// Reserves capacity for the announced rows, up to `mostExpected` in advance.
    private mutating func makeRoom(for more: Int, sections: Int, expecting total: Int) {
        leaves.reserve(more) { least in
            let room = least > total ? 2 * least : min(total, max(2 * least, Self.mostExpected))
            // Every section may end with a leaf that is not full.
            return (room, room / Leaf.bulkFill + min(sections, room) + 1)
        }
    }

    /// Appends a chunk section by section; returns false if a section occurs again or has no name.
    private mutating func appendRuns(of part: ListPlacements, _ names: [String]) -> Bool {
        let whole = [ListPlacements.Run(end: part.count, value: 0)]
        var start = 0
        for run in isSectioned ? part.sectionRuns : whole where run.end > start {
            guard !isSectioned || Int(run.value) < names.count else { return false }
            let slot = sections.slot(named: isSectioned ? names[Int(run.value)] : "")
            guard
                sections.slots[slot].count == 0
                    || Int(sections.order[sections.order.count - 1].slot) == slot
            else {
                return false
            }
            append(part, start..<run.end, to: slot)
            start = run.end
        }
        return true
    }

    /// Appends objects to a section, which must be the last one or empty.
    private mutating func append(_ part: ListPlacements, _ range: Range<Int>, to slot: Int) {
        if isSectioned, sections.slots[slot].count == 0 {
            sections.insertIntoOrder(slot, at: sections.order.count)
        }
        let begin = fillLastLeaf(of: slot, part, range)
        for start in stride(from: begin, to: range.upperBound, by: Leaf.bulkFill) {
            let piece = start..<min(start + Leaf.bulkFill, range.upperBound)
            let hint = sections.slots[slot].leaves.count
            let leaf = leaves.add(Leaf(section: UInt32(slot), places: part, piece), hint: hint)
            sections.append(leaf, count: piece.count, to: slot)
        }
        sections.addRows(range.count, toSection: sections.order.count - 1)
    }

    /// Fills the last leaf of a section, so that the division into leaves does not depend on
    /// chunks; returns the end of the objects that were appended.
    private mutating func fillLastLeaf(
        of slot: Int, _ part: ListPlacements, _ range: Range<Int>
    ) -> Int {
        guard let last = sections.slots[slot].leaves.last else { return range.lowerBound }
        let index = sections.slots[slot].leaves.count - 1
        let lacking = Leaf.bulkFill - Int(last.count)
        guard lacking > 0 else { return range.lowerBound }
        let end = min(range.lowerBound + lacking, range.upperBound)
        let rows = Leaf(section: UInt32(slot), places: part, range.lowerBound..<end)
        let count = leaves.append(rows, to: Int(last.leaf), hint: index)
        sections.addRows(rows.count, toLeaf: index, of: slot)
        assert(
            count == Int(sections.slots[slot].leaves[index].count) && count <= Leaf.bulkFill,
            "The last leaf is not overfilled.")
        return end
    }
}

extension RowStore {
    /// Creates a store of rows in any order, in O(n) if they are sorted; if rows have the same
    /// number, the last one wins.
    init(sectioned: Bool, rows: [ResultRow]) {
        var builder = RowStoreBuilder(sectioned: sectioned)
        if !builder.fill(with: rows.isSortedByKey ? rows : rows.sorted { $0.precedes($1) }) {
            var last: [UInt64: ResultRow] = [:]
            for row in rows { last[row.number] = row }
            builder = RowStoreBuilder(sectioned: sectioned)
            let isUnique = builder.fill(with: last.values.sorted { $0.precedes($1) })
            assert(isUnique, "Only the last row with each number is used.")
        }
        self = builder.store
    }
}

extension [ResultRow] {
    fileprivate var isSortedByKey: Bool {
        zip(self, dropFirst()).allSatisfy { $0.precedes($1) }
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
