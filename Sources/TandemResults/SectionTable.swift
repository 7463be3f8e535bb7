/// The sections of a list: their names, leaves and counts, and the order of those with rows.
///
/// A section keeps its slot while it has rows. A list without sections has only slot 0, which is
/// always in `order`. The table does not compare rows: the owner determines the index of a
/// section in `order`.
struct SectionTable: Sendable {
    /// A leaf of a section, and its number of rows.
    struct LeafRef: Sendable {
        var leaf: UInt32
        var count: UInt32
    }

    /// A section in `order`, and its number of rows.
    struct SectionRef: Sendable {
        var slot: UInt32
        var count: UInt32
    }

    struct Section: Sendable {
        var name: String
        var leaves: [LeafRef] = []
        var count = 0
        /// The last known index of the section in `order`; verified before use.
        var hint = 0
        /// The index in a step's `touched`; verified before use.
        var touched = 0
    }

    let isSectioned: Bool
    private(set) var slots: [Section] = []
    /// The sections with rows, sorted by their first row, with their counts.
    private(set) var order: [SectionRef] = []
    private(set) var named: [String: Int] = [:]
    private var free: [Int] = []
    /// The sections that became empty, which keep their slot and name until ``forgetEmpty()``.
    private(set) var emptied: [Int] = []

    init(sectioned: Bool) {
        isSectioned = sectioned
        guard !sectioned else { return }
        slots = [Section(name: "")]
        named[""] = 0
        order = [SectionRef(slot: 0, count: 0)]
    }

    /// Returns the number of rows before the section at an index; `total` is the number of all
    /// rows.
    func offset(ofSection index: Int, of total: Int) -> Int {
        order.sum(before: index, of: total) { $0.count }
    }

    /// Returns the number of rows in the leaves of a section before an index.
    func rows(of slot: Int, beforeLeaf leafIndex: Int) -> Int {
        slots[slot].leaves.sum(before: leafIndex, of: slots[slot].count) { $0.count }
    }

    // MARK: Slots

    /// Returns the slot of a section, creating it if necessary.
    mutating func slot(named name: String) -> Int {
        guard isSectioned else { return 0 }
        if let slot = named[name] { return slot }
        let slot = free.popLast() ?? slots.count
        if slot == slots.count { slots.append(Section(name: name)) }
        assert(slots[slot].leaves.isEmpty, "A free slot has no leaves.")
        slots[slot] = Section(name: name)
        named[name] = slot
        return slot
    }

    /// Frees the slots of sections that became empty and still are.
    mutating func forgetEmpty() {
        for slot in emptied where slots[slot].count == 0 {
            guard named[slots[slot].name] == slot else { continue }
            named[slots[slot].name] = nil
            slots[slot] = Section(name: "")
            free.append(slot)
        }
        emptied.removeAll(keepingCapacity: true)
        assert(named.count == order.count, "Every named section has rows.")
    }

    /// Records a section's index in `order` as a hint.
    mutating func setHint(_ index: Int, of slot: Int) {
        assert(
            index < order.count && order[index].slot == UInt32(slot),
            "A section with rows is in `order`.")
        if slots[slot].hint != index { slots[slot].hint = index }
    }

    /// Records a section's index in a step's `touched`.
    mutating func setTouched(_ index: Int, of slot: Int) { slots[slot].touched = index }

    // MARK: Rows and leaves

    /// Changes the number of rows of the section at an index in `order`.
    mutating func addRows(_ count: Int, toSection index: Int) {
        let slot = Int(order[index].slot)
        slots[slot].count += count
        order[index].count = UInt32(slots[slot].count)
    }

    /// Changes the number of rows of a section's leaf.
    mutating func addRows(_ count: Int, toLeaf leafIndex: Int, of slot: Int) {
        let rows = Int(slots[slot].leaves[leafIndex].count) + count
        assert(rows >= 0, "No more rows are removed than the leaf has.")
        slots[slot].leaves[leafIndex].count = UInt32(rows)
    }

    /// Appends a leaf to a section.
    mutating func append(_ leaf: Int, count: Int, to slot: Int) {
        slots[slot].leaves.append(LeafRef(leaf: UInt32(leaf), count: UInt32(count)))
    }

    /// Inserts a leaf into a section.
    mutating func insert(_ leaf: Int, count: Int, at leafIndex: Int, of slot: Int) {
        let ref = LeafRef(leaf: UInt32(leaf), count: UInt32(count))
        slots[slot].leaves.insert(ref, at: leafIndex)
    }

    /// Removes a leaf from a section, and returns its slot.
    mutating func removeLeaf(at leafIndex: Int, of slot: Int) -> Int {
        Int(slots[slot].leaves.remove(at: leafIndex).leaf)
    }

    // MARK: The order

    /// Inserts a section with rows into `order` at an index.
    mutating func insertIntoOrder(_ slot: Int, at index: Int) {
        assert(isSectioned, "The only section of a list without sections stays in `order`.")
        let ref = SectionRef(slot: UInt32(slot), count: UInt32(slots[slot].count))
        order.insert(ref, at: index)
        slots[slot].hint = index
    }

    /// Removes the section at an index from `order`.
    mutating func removeFromOrder(at index: Int) { order.remove(at: index) }

    /// Removes the section at an index, which must have no rows, and keeps its slot until
    /// ``forgetEmpty()``.
    mutating func removeEmpty(at index: Int) {
        assert(order[index].count == 0, "A removed section has no rows.")
        emptied.append(Int(order.remove(at: index).slot))
    }

    // MARK: Invariants

    /// Asserts that the counts are consistent; `total` is the number of rows.
    func checkInvariants(_ total: Int) {
        assert(
            isSectioned || order.count == 1 && order[0].slot == 0,
            "A list without sections has one slot, which may be empty.")
        assert(
            isSectioned || order[0].count == UInt32(total), "The only section has all rows.")
    }

    /// Asserts that `order` lists the sections with rows, with their counts.
    func checkAllSections() {
        assert(
            order.allSatisfy { Int($0.count) == slots[Int($0.slot)].count },
            "`order` has the count of each section.")
        let withRows = slots.indices.filter { slots[$0].count > 0 }
        assert(
            !isSectioned || Set(order.map { Int($0.slot) }) == Set(withRows),
            "`order` consists of the sections with rows.")
        assert(
            slots.allSatisfy { $0.leaves.reduce(0) { $0 + Int($1.count) } == $0.count },
            "A section has as many rows as its leaves.")
    }
}

extension Array {
    /// Returns the sum of the counts before an index, computed from the nearer end; `total` is the
    /// sum of all counts.
    @inline(__always)
    fileprivate func sum(before index: Int, of total: Int, _ size: (Element) -> UInt32) -> Int {
        withUnsafeBufferPointer { all in
            var sum = 0
            if index <= all.count / 2 {
                for at in 0..<index { sum &+= Int(size(all[at])) }
                return sum
            }
            for at in index..<all.count { sum &+= Int(size(all[at])) }
            return total - sum
        }
    }
}
