/// The leaves of a list, and an index from each row's number to its leaf.
///
/// A number is found through `leafByNumber` and a scan of one leaf. Invariant (``checkAllRows()``):
/// `leafByNumber` maps every number to its leaf, and contains nothing else. While leaves are added
/// in bulk, their numbers are not in `leafByNumber` yet (``indexRows(from:_:)``).
struct LeafTable: Sendable {
    private(set) var slots: [Leaf] = []
    /// The slots of leaves without rows.
    private(set) var free: [Int] = []
    private var leafByNumber = NumberTable()

    /// The number of rows.
    var count: Int { leafByNumber.count }

    /// Calls `body` with a borrowed leaf; a copy would change reference counts.
    @inline(__always)
    func withLeaf<Value>(_ leaf: Int, _ body: (borrowing Leaf) -> Value) -> Value {
        slots.withUnsafeBufferPointer { leaves in
            precondition(leaves.indices.contains(leaf), "There is no leaf \(leaf).")
            guard let first = leaves.baseAddress else {
                preconditionFailure("There are no leaves.")
            }
            return body(first[leaf])
        }
    }

    /// Returns the leaf that contains a number, and the index in it.
    @inline(__always)
    func spot(of number: UInt64) -> (leaf: Int, at: Int)? {
        var found = 0
        let leaf = leafByNumber.index(of: number) { leaf in
            guard let at = withLeaf(leaf, { $0.position(of: number) }) else { return false }
            found = at
            return true
        }
        return leaf.map { ($0, found) }
    }

    /// Compares a row of a leaf with the first row of another.
    func order(_ at: Int, of leaf: Int, to other: Int) -> Int {
        slots.withUnsafeBufferPointer { leaves in
            let number = leaves[other].number(0)
            return leaves[other].withKey(0) { leaves[leaf].order(at, to: $0, number) }
        }
    }

    // MARK: Edits

    /// Records the index of a leaf in its section as a hint.
    mutating func setHint(_ hint: Int, of leaf: Int) {
        if withLeaf(leaf, { $0.hint }) != UInt32(hint) { slots[leaf].hint = UInt32(hint) }
    }

    /// Adds a leaf of one row, whose number must not be in the table, and returns its slot.
    mutating func add(_ row: ResultRow, section: Int, hint: Int) -> Int {
        let leaf = add(Leaf(section: UInt32(section), rows: [row]), hint: hint)
        addToIndex(row.number, in: leaf)
        return leaf
    }

    /// Inserts a row, whose number must not be in the table, into a leaf; returns whether the leaf
    /// has to be split.
    mutating func insert(_ row: ResultRow, at: Int, in leaf: Int) -> Bool {
        slots[leaf].insert(row, at: at)
        addToIndex(row.number, in: leaf)
        return withLeaf(leaf) { $0.isFull }
    }

    /// Removes a row of a leaf.
    mutating func remove(at: Int, of leaf: Int) {
        leafByNumber.remove(withLeaf(leaf) { $0.number(at) }, at: leaf)
        slots[leaf].remove(at: at)
    }

    /// Moves the upper half of a leaf to a new one; returns its slot and its number of rows.
    mutating func split(_ leaf: Int, hint: Int) -> (leaf: Int, count: Int) {
        let upper = slots[leaf].split()
        let new = add(upper, hint: hint)
        move(upper, from: leaf, to: new)
        assert(slots[leaf].count > 0 && upper.count > 0, "Both halves of a leaf have rows.")
        return (new, upper.count)
    }

    /// Moves the rows of a leaf to the end of the previous leaf; returns their number.
    ///
    /// Returns nil, and moves nothing, if that would leave too little room in the previous leaf.
    mutating func merge(_ leaf: Int, into previous: Int) -> Int? {
        guard slots[previous].count + slots[leaf].count <= Leaf.bulkFill,
            slots[previous].keyBytes + slots[leaf].keyBytes <= Leaf.keyCapacity / 2
        else { return nil }
        let moved = slots[leaf]
        slots[previous].append(moved)
        slots[leaf] = Leaf(section: 0)
        move(moved, from: leaf, to: previous)
        return moved.count
    }

    /// Frees the slot of a leaf without rows.
    mutating func release(_ leaf: Int) {
        assert(slots[leaf].count == 0, "Only a leaf without rows is released.")
        slots[leaf] = Leaf(section: 0)
        free.append(leaf)
    }

    /// Adds the number of a row that was inserted into a leaf to `leafByNumber`.
    private mutating func addToIndex(_ number: UInt64, in leaf: Int) {
        if leafByNumber.insert(number, at: leaf) { return }
        let isUnique = rebuildIndex()
        assert(isUnique, "A number is in at most one leaf.")
    }

    /// Updates `leafByNumber` for rows that were moved from one leaf to another.
    private mutating func move(_ rows: Leaf, from old: Int, to new: Int) {
        for at in 0..<rows.count where !leafByNumber.move(rows.number(at), from: old, to: new) {
            let isUnique = rebuildIndex()
            assert(isUnique, "A row that is moved between leaves is in one of them.")
            return
        }
    }

    // MARK: Bulk

    /// Adds a leaf without adding its numbers to `leafByNumber`, and returns its slot.
    mutating func add(_ leaf: Leaf, hint: Int) -> Int {
        assert(leaf.count > 0, "A leaf of a section has rows.")
        var leaf = leaf
        leaf.hint = UInt32(hint)
        if let slot = free.popLast() {
            assert(slots[slot].count == 0, "A free leaf has no rows.")
            slots[slot] = leaf
            return slot
        }
        slots.append(leaf)
        return slots.count - 1
    }

    /// Appends rows to a leaf without adding their numbers to `leafByNumber`; returns the leaf's
    /// number of rows.
    mutating func append(_ rows: Leaf, to leaf: Int, hint: Int) -> Int {
        slots[leaf].append(rows)
        slots[leaf].hint = UInt32(hint)
        return slots[leaf].count
    }

    /// Rebuilds `leafByNumber` from the leaves; returns false if a number occurs twice.
    mutating func rebuildIndex() -> Bool {
        let count = slots.reduce(0) { $0 + $1.count }
        // A table that was edited gets room for enough further edits to make the rebuild
        // worthwhile.
        let room = leafByNumber.count == 0 ? count : count + count / 4 + 8
        leafByNumber = NumberTable(room: room, places: slots.count * 2)
        return indexRows(from: 0, 0)
    }

    /// Adds the numbers of the rows at and after a location to `leafByNumber`, which must have room
    /// for them.
    ///
    /// Returns false if a number occurs twice.
    mutating func indexRows(from first: Int, _ start: Int) -> Bool {
        // The table is moved out of `self`, so that leaves can be read while it is filled.
        var leafByNumber = NumberTable()
        swap(&leafByNumber, &self.leafByNumber)
        defer { swap(&leafByNumber, &self.leafByNumber) }
        for leaf in first..<slots.count {
            let rows = slots[leaf]
            for at in (leaf == first ? start : 0)..<rows.count {
                let number = rows.number(at)
                let isNew = leafByNumber.insertNew(number, at: leaf) { other in
                    let known = withLeaf(other) { $0.position(of: number) }
                    return known.map { (other, $0) != (leaf, at) } ?? false
                }
                if !isNew { return false }
            }
        }
        return true
    }

    /// Makes sure that `leafByNumber` has capacity for `more` rows.
    ///
    /// If capacity has to be added, `room` is called with the total number of rows, and returns the
    /// numbers of rows and leaves for which to reserve capacity.
    mutating func reserve(_ more: Int, _ room: (Int) -> (rows: Int, leaves: Int)) {
        if leafByNumber.hasRoom(for: more) { return }
        let (rows, leaves) = room(leafByNumber.count + more)
        assert(rows >= leafByNumber.count + more, "Capacity is reserved for all rows.")
        leafByNumber = NumberTable(room: rows, places: 2 * leaves)
        _ = indexRows(from: 0, 0)
    }

    // MARK: Invariants

    /// Asserts that `leafByNumber` maps every number to its leaf, and contains nothing else.
    func checkAllRows() {
        assert(indexIsComplete, "`leafByNumber` maps every number to its leaf.")
        assert(free.allSatisfy { slots[$0].count == 0 }, "A free leaf has no rows.")
    }

    private var indexIsComplete: Bool {
        var count = 0
        for (index, leaf) in slots.enumerated() {
            count += leaf.count
            for at in 0..<leaf.count {
                let spot = spot(of: leaf.number(at))
                guard spot.map({ $0 == (index, at) }) ?? false else { return false }
            }
        }
        return count == leafByNumber.count
    }
}
