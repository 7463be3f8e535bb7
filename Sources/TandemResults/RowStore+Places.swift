public import TandemQuery

extension RowStore {
    /// Makes a store of the places of a list; nil unless these are in order, by key and then number, each number is there once, and no
    /// section comes in two parts.
    ///
    /// O(n), and no allocation for a row: leaves take their part of the columns.
    init?(sectioned: Bool, places: ListPlaces) {
        self.init(sectioned: sectioned)
        guard places.isInOrder, append(places), fillHome() else { return nil }
    }

    /// Appends all places by their sections; false when one comes back.
    private mutating func append(_ places: ListPlaces) -> Bool {
        let whole = [ListPlaces.Run(end: places.count, value: 0)]
        var start = 0
        for run in isSectioned ? places.sectionRuns : whole where run.end > start {
            let slot = slot(named: isSectioned ? places.sections[Int(run.value)] : "")
            guard sections[slot].count == 0 else { return false }
            append(places, start..<run.end, to: slot)
            start = run.end
        }
        return true
    }

    private mutating func append(_ places: ListPlaces, _ range: Range<Int>, to slot: Int) {
        for start in stride(from: range.lowerBound, to: range.upperBound, by: Leaf.bulkFill) {
            let part = start..<min(start + Leaf.bulkFill, range.upperBound)
            let leaf = add(Leaf(section: UInt32(slot), places: places, part))
            leaves[leaf].hint = UInt32(sections[slot].leaves.count)
            sections[slot].leaves.append(LeafRef(leaf: UInt32(leaf), count: UInt32(part.count)))
        }
        sections[slot].count = range.count
        if isSectioned {
            sections[slot].hint = order.count
            order.append(SectionRef(slot: UInt32(slot), count: UInt32(range.count)))
        } else {
            order[0].count = UInt32(range.count)
        }
    }
}

extension ListPlaces {
    /// Whether each object stands behind the one before, by key and then number.
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

extension SectionedList {
    /// Makes a list of the places of an answer; nil unless these are in order, each object is there once, and no section comes in two parts.
    ///
    /// Where it is not nil the list is the one that ``init(sectioned:rows:)`` makes of the same rows, at a fraction of its cost.
    public init?(sectioned: Bool, places: ListPlaces) {
        guard let rows = RowStore(sectioned: sectioned, places: places) else { return nil }
        self.init(sectioned: sectioned)
        self.rows = rows
    }
}
