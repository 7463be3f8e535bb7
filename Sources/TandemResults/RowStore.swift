import Algorithms

/// The rows of a list, by section; each section is a sequence of leaves.
///
/// Invariants between edits, even while sections are out of order (``checkAllRows()``):
/// - A section's leaves are not empty, and all its rows are sorted by key, then number.
/// - The sections with rows are sorted by their first row.
///
/// The list is in order if every section ends before the next one begins (`firstDisorder`). A
/// location is found by binary search over the first rows of sections and leaves. An index is
/// computed by adding contiguous counts, beginning at the nearer end. There is a 64-bit word for
/// each section, and for each leaf of about a hundred rows.
struct RowStore: Sendable {
    /// The location of a row, or of a row to be inserted: section slot, index in its leaves, leaf
    /// slot, index in the leaf.
    struct LeafLocation {
        var slot: Int
        var leafIndex: Int
        var leaf: Int
        var at: Int
    }

    private(set) var leaves = LeafTable()
    private(set) var sections: SectionTable

    init(sectioned: Bool) { sections = SectionTable(sectioned: sectioned) }

    /// Creates a store of leaves and the sections that own them; `leaves` must contain all numbers.
    init(_ leaves: LeafTable, _ sections: SectionTable) {
        (self.leaves, self.sections) = (leaves, sections)
        checkInvariants()
    }

    /// Whether the list has sections.
    var isSectioned: Bool { sections.isSectioned }

    /// The number of rows.
    var count: Int { leaves.count }

    /// The number of sections with rows; 1 if the list has no sections.
    var sectionCount: Int { sections.order.count }

    func contains(_ number: UInt64) -> Bool { spot(of: number) != nil }

    /// Calls `body` with a borrowed leaf; a copy would change reference counts.
    @inline(__always)
    func withLeaf<Value>(_ leaf: Int, _ body: (borrowing Leaf) -> Value) -> Value {
        leaves.withLeaf(leaf, body)
    }

    /// Returns the leaf that contains a number, and the index in it.
    @inline(__always)
    func spot(of number: UInt64) -> (leaf: Int, at: Int)? { leaves.spot(of: number) }

    // MARK: Sections

    /// Returns the number of rows of the section at an index, which must exist.
    func count(ofSection index: Int) -> Int { Int(sections.order[index].count) }

    /// Returns the slot of the section at an index, which must exist.
    func slot(ofSection index: Int) -> Int { Int(sections.order[index].slot) }

    /// Returns the slot of the section with a name; nil if there is none.
    func slot(named name: String) -> Int? { sections.named[name] }

    /// Returns the name of the section in a slot.
    func name(of slot: Int) -> String { sections.slots[slot].name }

    /// Returns the number of rows of the section in a slot.
    func count(of slot: Int) -> Int { sections.slots[slot].count }

    /// Returns the index that a step recorded in a section; verify it before use.
    func touchedHint(of slot: Int) -> Int { sections.slots[slot].touched }

    /// Records a section's index in a step's `touched`.
    mutating func setTouchedHint(_ index: Int, of slot: Int) {
        sections.setTouched(index, of: slot)
    }

    // MARK: Finding

    /// Returns the location of a row by its number.
    func location(of number: UInt64) -> LeafLocation? {
        guard let (leaf, at) = spot(of: number) else { return nil }
        let (slot, hint) = withLeaf(leaf) { (Int($0.section), Int($0.hint)) }
        var index = nearbyIndex(of: leaf, in: slot, hint)
        if index < 0 { index = searchedIndex(of: leaf, at, in: slot) }
        return LeafLocation(slot: slot, leafIndex: index, leaf: leaf, at: at)
    }

    /// Returns the location of a row by its number, and records the leaf's index in its section as
    /// a hint.
    mutating func locationRecordingHint(of number: UInt64) -> LeafLocation? {
        guard let place = location(of: number) else { return nil }
        leaves.setHint(place.leafIndex, of: place.leaf)
        return place
    }

    /// Returns the index of a leaf in its section if it equals or is next to the hint; otherwise a
    /// negative number.
    @inline(__always)
    private func nearbyIndex(of leaf: Int, in slot: Int, _ hint: Int) -> Int {
        sections.slots[slot].leaves.withUnsafeBufferPointer { refs in
            if refs.count == 1 { return 0 }
            let wanted = UInt32(leaf)
            if hint < refs.count, refs[hint].leaf == wanted { return hint }
            if hint + 1 < refs.count, refs[hint + 1].leaf == wanted { return hint + 1 }
            if hint > 0, hint <= refs.count, refs[hint - 1].leaf == wanted { return hint - 1 }
            return -1
        }
    }

    /// Returns the index of a leaf in its section, by a search for one of its rows.
    @inline(never)
    private func searchedIndex(of leaf: Int, _ at: Int, in slot: Int) -> Int {
        withLeaf(leaf) { leaf in
            leaf.withKey(at) { leafIndex(in: slot, $0, leaf.number(at)) }
        }
    }

    /// Returns the location of a row with this key and number, or its insertion point, in a section
    /// with rows.
    func location(in slot: Int, _ key: [UInt8], _ number: UInt64) -> LeafLocation {
        key.withUnsafeBytes { key in
            let index = leafIndex(in: slot, key, number)
            let leaf = Int(sections.slots[slot].leaves[index].leaf)
            let at = withLeaf(leaf) { $0.lowerBound(key, number) }
            return LeafLocation(slot: slot, leafIndex: index, leaf: leaf, at: at)
        }
    }

    /// Returns the index of the last leaf of a section that does not begin after a key and number.
    private func leafIndex(in slot: Int, _ key: KeyParts, _ number: UInt64) -> Int {
        leafIndex(in: slot) { $0.order(0, to: key, number) > 0 }
    }

    private func leafIndex(in slot: Int, _ key: UnsafeRawBufferPointer, _ number: UInt64) -> Int {
        leafIndex(in: slot) { $0.order(0, to: key, number) > 0 }
    }

    @inline(__always)
    private func leafIndex(in slot: Int, _ beginsAfter: (borrowing Leaf) -> Bool) -> Int {
        sections.slots[slot].leaves.withUnsafeBufferPointer { refs in
            if refs.count == 1 { return 0 }
            let next = refs.partitioningIndex { withLeaf(Int($0.leaf), beginsAfter) }
            return max(next - 1, 0)
        }
    }

    /// Returns the index of a row in its section.
    func item(of place: LeafLocation) -> Int {
        if sections.slots[place.slot].leaves.count == 1 { return place.at }
        return sections.rows(of: place.slot, beforeLeaf: place.leafIndex) + place.at
    }

    /// Returns the index of the section in a slot, which must have rows.
    func sectionIndex(of slot: Int) -> Int {
        let hint = sections.slots[slot].hint
        if hint < sections.order.count, sections.order[hint].slot == UInt32(slot) { return hint }
        guard isSectioned else { return 0 }
        return sections.order.partitioningIndex {
            !firstRow(of: Int($0.slot), precedesFirstRowOf: slot)
        }
    }

    /// Returns whether a section begins before another one; both must have rows.
    func firstRow(of slot: Int, precedesFirstRowOf other: Int) -> Bool {
        let (mine, theirs) = (
            Int(sections.slots[slot].leaves[0].leaf), Int(sections.slots[other].leaves[0].leaf)
        )
        return leaves.order(0, of: mine, to: theirs) < 0
    }

    /// Returns the number of rows before a section.
    func offset(ofSection index: Int) -> Int {
        sections.offset(ofSection: index, of: count)
    }

    /// Returns the path of a number; nil if the list does not contain it.
    func path(of number: UInt64) -> ResultsIndexPath? {
        guard let place = location(of: number) else { return nil }
        return ResultsIndexPath(section: sectionIndex(of: place.slot), item: item(of: place))
    }

    /// Returns the location of the row at an index of a section, which must exist.
    func location(section index: Int, item: Int) -> LeafLocation {
        let slot = Int(sections.order[index].slot)
        var rest = item
        for (leafIndex, ref) in sections.slots[slot].leaves.enumerated() {
            if rest < Int(ref.count) {
                return LeafLocation(slot: slot, leafIndex: leafIndex, leaf: Int(ref.leaf), at: rest)
            }
            rest -= Int(ref.count)
        }
        fatalError("Item \(item) is beyond the end of section \(index).")
    }

    /// Returns the path of the row at an offset in the whole list, which must exist.
    func path(atOffset offset: Int) -> ResultsIndexPath {
        var rest = offset
        for (index, ref) in sections.order.enumerated() {
            if rest < Int(ref.count) { return ResultsIndexPath(section: index, item: rest) }
            rest -= Int(ref.count)
        }
        fatalError("Offset \(offset) is beyond the end of the list.")
    }

    func row(at place: LeafLocation) -> ResultRow {
        withLeaf(place.leaf) { leaf in
            ResultRow(
                number: leaf.number(place.at), entityTag: leaf.tag(place.at),
                sortKey: leaf.key(place.at), section: sections.slots[place.slot].name)
        }
    }

    /// Returns the entity tag of the row at a location.
    func tag(at place: LeafLocation) -> UInt16 { withLeaf(place.leaf) { $0.tag(place.at) } }

    /// Returns the row of a number; cheaper than finding its location.
    func row(of number: UInt64) -> ResultRow? {
        guard let (leaf, at) = spot(of: number) else { return nil }
        let slot = withLeaf(leaf) { Int($0.section) }
        return row(at: LeafLocation(slot: slot, leafIndex: 0, leaf: leaf, at: at))
    }

    /// Returns whether the row at a location equals the given row.
    func holds(_ row: ResultRow, at place: LeafLocation) -> Bool {
        if isSectioned, sections.slots[place.slot].name != row.section { return false }
        return row.sortKey.withUnsafeBytes { key in
            withLeaf(place.leaf) { leaf in
                leaf.tag(place.at) == row.entityTag && leaf.number(place.at) == row.number
                    && leaf.hasKey(key, at: place.at)
            }
        }
    }

    // MARK: Edits

    /// Inserts a row; its number must not be in the list.
    mutating func insert(_ row: ResultRow) {
        assert(!contains(row.number), "The row is not in the list yet.")
        defer { checkInvariants() }
        let slot = sections.slot(named: row.section)
        if sections.slots[slot].count == 0 { return insertFirst(row, in: slot) }
        let index = sectionIndexRecordingHint(of: slot)
        let place = location(in: slot, row.sortKey, row.number)
        checkInvariants(at: place)
        sections.addRows(1, toSection: index)
        if !appendLeafIfBulkFilled(row, place) {
            sections.addRows(1, toLeaf: place.leafIndex, of: slot)
            if leaves.insert(row, at: place.at, in: place.leaf) { split(place) }
        }
        if place.leafIndex == 0 && place.at == 0 { restoreOrder(at: index) }
    }

    /// Removes a row.
    mutating func remove(at place: LeafLocation) {
        checkInvariants(at: place)
        defer { checkInvariants() }
        let slot = place.slot
        let index = sectionIndexRecordingHint(of: slot)
        leaves.remove(at: place.at, of: place.leaf)
        sections.addRows(-1, toSection: index)
        sections.addRows(-1, toLeaf: place.leafIndex, of: slot)
        let (isEmpty, isSmall) = withLeaf(place.leaf) { ($0.count == 0, $0.isSmall) }
        if isEmpty {
            drop(leafIndex: place.leafIndex, of: slot)
        } else if isSmall {
            merge(place)
        }
        guard isSectioned else { return }
        if sections.slots[slot].count == 0 {
            sections.removeEmpty(at: index)
        } else if place.leafIndex == 0 && place.at == 0 {
            restoreOrder(at: index)
        }
    }

    /// Frees the slots of sections that became empty and still are.
    mutating func forgetEmptySections() { sections.forgetEmpty() }

    /// Returns the index of a section with rows, and records it as a hint.
    mutating func sectionIndexRecordingHint(of slot: Int) -> Int {
        let index = sectionIndex(of: slot)
        sections.setHint(index, of: slot)
        return index
    }

    /// Inserts the first row of a section, and adds the section to the section order.
    private mutating func insertFirst(_ row: ResultRow, in slot: Int) {
        assert(
            sections.slots[slot].leaves.isEmpty, "A section without rows has no leaves.")
        let leaf = leaves.add(row, section: slot, hint: 0)
        sections.append(leaf, count: 1, to: slot)
        let index = isSectioned ? enterOrder(slot) : 0
        sections.addRows(1, toSection: index)
    }

    /// Inserts a section into the section order at the index determined by its first row, and
    /// returns the index.
    private mutating func enterOrder(_ slot: Int) -> Int {
        let index = sections.order.partitioningIndex {
            !firstRow(of: Int($0.slot), precedesFirstRowOf: slot)
        }
        sections.insertIntoOrder(slot, at: index)
        return index
    }

    /// Restores the order after the first row of a section has changed.
    private mutating func restoreOrder(at index: Int) {
        guard isSectioned else { return }
        let slot = slot(ofSection: index)
        let fitsBefore =
            index == 0
            || firstRow(of: self.slot(ofSection: index - 1), precedesFirstRowOf: slot)
        let fitsAfter =
            index + 1 == sectionCount
            || firstRow(of: slot, precedesFirstRowOf: self.slot(ofSection: index + 1))
        if fitsBefore && fitsAfter { return }
        sections.removeFromOrder(at: index)
        _ = enterOrder(slot)
    }

    /// Appends a leaf for a row at the end of its section, if the last leaf has at least
    /// `Leaf.bulkFill` rows; returns whether it did.
    ///
    /// Rows often arrive in order, and splitting the last leaf would then leave half-empty leaves.
    private mutating func appendLeafIfBulkFilled(_ row: ResultRow, _ place: LeafLocation) -> Bool {
        guard place.leafIndex + 1 == sections.slots[place.slot].leaves.count,
            place.at >= Leaf.bulkFill, withLeaf(place.leaf, { place.at == $0.count })
        else { return false }
        let leaf = leaves.add(row, section: place.slot, hint: place.leafIndex + 1)
        sections.append(leaf, count: 1, to: place.slot)
        return true
    }

    private mutating func split(_ place: LeafLocation) {
        let (leaf, count) = leaves.split(place.leaf, hint: place.leafIndex + 1)
        sections.addRows(-count, toLeaf: place.leafIndex, of: place.slot)
        sections.insert(leaf, count: count, at: place.leafIndex + 1, of: place.slot)
    }

    /// Merges a small leaf with a neighbour if both fit into one.
    private mutating func merge(_ place: LeafLocation) {
        let last = sections.slots[place.slot].leaves.count - 1
        guard last > 0 else { return }
        let lower = place.leafIndex == last ? last - 1 : place.leafIndex
        let (left, right) = (
            Int(sections.slots[place.slot].leaves[lower].leaf),
            Int(sections.slots[place.slot].leaves[lower + 1].leaf)
        )
        guard let moved = leaves.merge(right, into: left) else { return }
        sections.addRows(moved, toLeaf: lower, of: place.slot)
        drop(leafIndex: lower + 1, of: place.slot)
    }

    private mutating func drop(leafIndex: Int, of slot: Int) {
        leaves.release(sections.removeLeaf(at: leafIndex, of: slot))
    }
}
