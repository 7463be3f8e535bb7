import Algorithms

extension RowStore {
    /// Inserts a row; its number must not be in the list.
    mutating func insert(_ row: ResultRow) {
        assert(!contains(row.number), "A row is inserted once.")
        defer { checkInvariants() }
        let slot = slot(named: row.section)
        if sections[slot].count == 0 { return insertFirst(row, in: slot) }
        let index = hintedIndex(of: slot)
        let place = location(in: slot, row.sortKey, row.number)
        checkInvariants(at: place)
        order[index].count += 1
        sections[slot].count += 1
        if !appendsLeaf(row, place) {
            leaves[place.leaf].insert(row, at: place.at)
            enter(row.number, in: place.leaf)
            sections[slot].leaves[place.leafIndex].count += 1
            if withLeaf(place.leaf, { $0.isFull }) { split(place) }
        }
        if place.leafIndex == 0 && place.at == 0 { restoreOrder(at: index) }
    }

    /// Removes a row.
    mutating func remove(at place: LeafLocation) {
        checkInvariants(at: place)
        defer { checkInvariants() }
        let slot = place.slot
        let index = hintedIndex(of: slot)
        home.remove(withLeaf(place.leaf) { $0.number(place.at) }, at: place.leaf)
        leaves[place.leaf].remove(at: place.at)
        order[index].count -= 1
        sections[slot].count -= 1
        sections[slot].leaves[place.leafIndex].count -= 1
        let (isEmpty, isSmall) = withLeaf(place.leaf) { ($0.count == 0, $0.isSmall) }
        if isEmpty {
            drop(leafIndex: place.leafIndex, of: slot)
        } else if isSmall {
            merge(place)
        }
        guard isSectioned else { return }
        if sections[slot].count == 0 {
            order.remove(at: index)
            emptied.append(slot)
        } else if place.leafIndex == 0 && place.at == 0 {
            restoreOrder(at: index)
        }
    }

    /// Frees the slots of sections that became empty and still are.
    mutating func forgetEmptySections() {
        for slot in emptied where sections[slot].count == 0 {
            guard slots[sections[slot].name] == slot else { continue }
            slots[sections[slot].name] = nil
            sections[slot] = Section(name: "")
            freeSections.append(slot)
        }
        emptied.removeAll(keepingCapacity: true)
        assert(slots.count == order.count, "Every section with a name has rows.")
    }

    /// Returns the slot of a section, creating it if necessary.
    mutating func slot(named name: String) -> Int {
        guard isSectioned else { return 0 }
        if let slot = slots[name] { return slot }
        let slot = freeSections.popLast() ?? sections.count
        if slot == sections.count { sections.append(Section(name: name)) }
        assert(sections[slot].leaves.isEmpty, "A free section has no rows.")
        sections[slot] = Section(name: name)
        slots[name] = slot
        return slot
    }

    /// Adds a leaf to the store.
    mutating func add(_ leaf: Leaf) -> Int {
        assert(leaf.count > 0, "A leaf of a section has rows.")
        if let slot = freeLeaves.popLast() {
            assert(leaves[slot].count == 0, "A free leaf has no rows.")
            leaves[slot] = leaf
            return slot
        }
        leaves.append(leaf)
        return leaves.count - 1
    }

    /// Enters a new number, which is already in the leaf.
    private mutating func enter(_ number: UInt64, in leaf: Int) {
        if home.insert(number, at: leaf) { return }
        let isUnique = fillHome()
        assert(isUnique, "A number is in one leaf.")
    }

    /// Updates the leaf of rows that were already moved from one leaf to another.
    private mutating func move(_ rows: Leaf, from old: Int, to new: Int) {
        for at in 0..<rows.count where !home.move(rows.number(at), from: old, to: new) {
            let isUnique = fillHome()
            assert(isUnique, "A row that is moved between leaves is in one of them.")
            return
        }
    }

    /// Returns the index of a section with rows, and remembers it as a hint.
    mutating func hintedIndex(of slot: Int) -> Int {
        let index = sectionIndex(of: slot)
        assert(
            index < order.count && order[index].slot == UInt32(slot),
            "A section with rows is in the order.")
        if sections[slot].hint != index { sections[slot].hint = index }
        return index
    }

    /// Inserts the first row of a section, which is thereby added to the order.
    private mutating func insertFirst(_ row: ResultRow, in slot: Int) {
        assert(sections[slot].leaves.isEmpty, "A section without rows has no leaves.")
        let leaf = add(Leaf(section: UInt32(slot), rows: [row]))
        enter(row.number, in: leaf)
        sections[slot].leaves = [LeafRef(leaf: UInt32(leaf), count: 1)]
        sections[slot].count = 1
        if isSectioned {
            enterOrder(SectionRef(slot: UInt32(slot), count: 1))
        } else {
            order[0].count = 1
        }
    }

    private mutating func enterOrder(_ ref: SectionRef) {
        let slot = Int(ref.slot)
        let index = order.partitioningIndex {
            !firstRow(of: Int($0.slot), precedesFirstRowOf: slot)
        }
        order.insert(ref, at: index)
        sections[slot].hint = index
    }

    /// Restores the order after the first row of a section has changed.
    private mutating func restoreOrder(at index: Int) {
        guard isSectioned else { return }
        let slot = Int(order[index].slot)
        let fitsBefore =
            index == 0 || firstRow(of: Int(order[index - 1].slot), precedesFirstRowOf: slot)
        let fitsAfter =
            index + 1 == order.count
            || firstRow(of: slot, precedesFirstRowOf: Int(order[index + 1].slot))
        if fitsBefore && fitsAfter { return }
        enterOrder(order.remove(at: index))
    }

    /// Adds a new leaf for a row that comes after a well-filled last leaf; returns whether it did.
    ///
    /// Rows often arrive in order, and splitting the leaf in half would then leave half-empty
    /// leaves.
    private mutating func appendsLeaf(_ row: ResultRow, _ place: LeafLocation) -> Bool {
        guard place.leafIndex + 1 == sections[place.slot].leaves.count,
            place.at >= Leaf.bulkFill, withLeaf(place.leaf, { place.at == $0.count })
        else { return false }
        let leaf = add(Leaf(section: UInt32(place.slot), rows: [row]))
        enter(row.number, in: leaf)
        leaves[leaf].hint = UInt32(place.leafIndex + 1)
        sections[place.slot].leaves.append(LeafRef(leaf: UInt32(leaf), count: 1))
        return true
    }

    private mutating func split(_ place: LeafLocation) {
        let upper = leaves[place.leaf].split()
        let count = UInt32(upper.count)
        let leaf = add(upper)
        leaves[leaf].hint = UInt32(place.leafIndex + 1)
        move(upper, from: place.leaf, to: leaf)
        sections[place.slot].leaves[place.leafIndex].count -= count
        let ref = LeafRef(leaf: UInt32(leaf), count: count)
        sections[place.slot].leaves.insert(ref, at: place.leafIndex + 1)
    }

    /// Merges a small leaf with a neighbour if both fit into one.
    private mutating func merge(_ place: LeafLocation) {
        let last = sections[place.slot].leaves.count - 1
        guard last > 0 else { return }
        let lower = place.leafIndex == last ? last - 1 : place.leafIndex
        let refs = sections[place.slot].leaves[lower...(lower + 1)].map { Int($0.leaf) }
        let (left, right) = (refs[0], refs[1])
        guard leaves[left].count + leaves[right].count <= Leaf.bulkFill,
            leaves[left].keyBytes + leaves[right].keyBytes <= Leaf.keyCapacity / 2
        else { return }
        let moved = leaves[right]
        sections[place.slot].leaves[lower].count += UInt32(moved.count)
        leaves[left].append(moved)
        leaves[right] = Leaf(section: 0)
        move(moved, from: right, to: left)
        drop(leafIndex: lower + 1, of: place.slot)
    }

    private mutating func drop(leafIndex: Int, of slot: Int) {
        let leaf = Int(sections[slot].leaves.remove(at: leafIndex).leaf)
        assert(leaves[leaf].count == 0, "Only a leaf without rows is dropped.")
        leaves[leaf] = Leaf(section: 0)
        freeLeaves.append(leaf)
    }
}
