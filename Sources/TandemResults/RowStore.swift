import Algorithms

/// The rows of a list, by section; each section is a sequence of leaves.
///
/// Invariants between edits, also while sections are out of order (``checkAllRows()``):
/// - A section's leaves are not empty, and all its rows are sorted by key, then number.
/// - `order` lists the sections with rows, sorted by their first row, with their counts; without
///   sections, it always contains slot 0.
/// - `home` maps every number to its leaf, and contains nothing else.
///
/// The list is in order if every section ends before the next one begins (`firstDisorder`). A row
/// is found by number through `home` and a scan of one leaf, so keys are stored once. Locations are
/// found by binary search over first rows. Ranks are sums over contiguous counts, from the nearer
/// end: a 64-bit word per section, or per leaf of about a hundred rows.
struct RowStore: Sendable {
    struct LeafRef: Sendable {
        var leaf: UInt32
        var count: UInt32
    }

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

    /// The location of a row, or of a row to be inserted: section slot, index in its leaves, leaf
    /// slot, index in the leaf.
    struct LeafLocation {
        var slot: Int
        var leafIndex: Int
        var leaf: Int
        var at: Int
    }

    let isSectioned: Bool
    var leaves: [Leaf] = []
    var freeLeaves: [Int] = []
    var sections: [Section] = []
    var freeSections: [Int] = []
    /// The sections that became empty; they keep slot and name until `forgetEmptySections`.
    var emptied: [Int] = []
    var slots: [String: Int] = [:]
    var order: [SectionRef] = []
    var home = NumberTable()

    init(sectioned: Bool) {
        isSectioned = sectioned
        guard !sectioned else { return }
        sections = [Section(name: "")]
        slots[""] = 0
        order = [SectionRef(slot: 0, count: 0)]
    }

    var count: Int { home.count }

    func contains(_ number: UInt64) -> Bool { spot(of: number) != nil }

    /// Calls `body` with a borrowed leaf; a copy would change reference counts.
    @inline(__always)
    func withLeaf<Value>(_ leaf: Int, _ body: (borrowing Leaf) -> Value) -> Value {
        leaves.withUnsafeBufferPointer { leaves in
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
        let leaf = home.index(of: number) { leaf in
            guard let at = withLeaf(leaf, { $0.position(of: number) }) else { return false }
            found = at
            return true
        }
        return leaf.map { ($0, found) }
    }

    /// Returns the location of a row by its number.
    func location(of number: UInt64) -> LeafLocation? {
        guard let (leaf, at) = spot(of: number) else { return nil }
        let (slot, hint) = withLeaf(leaf) { (Int($0.section), Int($0.hint)) }
        var index = nearbyIndex(of: leaf, in: slot, hint)
        if index < 0 { index = searchedIndex(of: leaf, at, in: slot) }
        return LeafLocation(slot: slot, leafIndex: index, leaf: leaf, at: at)
    }

    /// Returns the location of a row by its number; the leaf remembers its index in the section.
    mutating func hintedPlace(of number: UInt64) -> LeafLocation? {
        guard let place = location(of: number) else { return nil }
        let index = UInt32(place.leafIndex)
        if withLeaf(place.leaf, { $0.hint }) != index { leaves[place.leaf].hint = index }
        return place
    }

    /// Returns the index of a leaf in its section if it is at or next to the hint; otherwise a
    /// negative number.
    @inline(__always)
    private func nearbyIndex(of leaf: Int, in slot: Int, _ hint: Int) -> Int {
        sections[slot].leaves.withUnsafeBufferPointer { refs in
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
            let leaf = Int(sections[slot].leaves[index].leaf)
            let at = withLeaf(leaf) { $0.lowerBound(key, number) }
            return LeafLocation(slot: slot, leafIndex: index, leaf: leaf, at: at)
        }
    }

    /// Returns the index of the last leaf of a section that does not begin after the key and
    /// number.
    private func leafIndex(in slot: Int, _ key: KeyParts, _ number: UInt64) -> Int {
        leafIndex(in: slot) { $0.order(0, to: key, number) > 0 }
    }

    private func leafIndex(in slot: Int, _ key: UnsafeRawBufferPointer, _ number: UInt64) -> Int {
        leafIndex(in: slot) { $0.order(0, to: key, number) > 0 }
    }

    @inline(__always)
    private func leafIndex(in slot: Int, _ beginsBehind: (borrowing Leaf) -> Bool) -> Int {
        sections[slot].leaves.withUnsafeBufferPointer { refs in
            if refs.count == 1 { return 0 }
            let behind = refs.partitioningIndex { withLeaf(Int($0.leaf), beginsBehind) }
            return max(behind - 1, 0)
        }
    }

    /// Returns the row's rank in its section.
    func item(of place: LeafLocation) -> Int {
        let refs = sections[place.slot].leaves
        if refs.count == 1 { return place.at }
        let before = refs.sum(before: place.leafIndex, of: sections[place.slot].count) { $0.count }
        return before + place.at
    }

    /// Returns the index of a section with rows, from its slot.
    func sectionIndex(of slot: Int) -> Int {
        let hint = sections[slot].hint
        if hint < order.count, order[hint].slot == UInt32(slot) { return hint }
        guard isSectioned else { return 0 }
        return order.partitioningIndex { !firstRow(of: Int($0.slot), precedesFirstRowOf: slot) }
    }

    /// Returns whether one section begins before another one; both have rows.
    func firstRow(of slot: Int, precedesFirstRowOf other: Int) -> Bool {
        let (mine, theirs) = (
            Int(sections[slot].leaves[0].leaf), Int(sections[other].leaves[0].leaf)
        )
        return order(0, of: mine, to: theirs) < 0
    }

    /// Compares a row of a leaf with the first row of another.
    func order(_ at: Int, of leaf: Int, to other: Int) -> Int {
        leaves.withUnsafeBufferPointer { leaves in
            let number = leaves[other].number(0)
            return leaves[other].withKey(0) { leaves[leaf].order(at, to: $0, number) }
        }
    }

    /// Returns the number of rows before a section.
    func offset(ofSection index: Int) -> Int {
        order.sum(before: index, of: count) { $0.count }
    }

    /// Returns the path of a number; nil if the list does not contain it.
    func path(of number: UInt64) -> ResultsIndexPath? {
        guard let place = location(of: number) else { return nil }
        return ResultsIndexPath(section: sectionIndex(of: place.slot), item: item(of: place))
    }

    /// Returns the location of the row at an index of a section, which must exist.
    func location(section index: Int, item: Int) -> LeafLocation {
        let slot = Int(order[index].slot)
        var rest = item
        for (leafIndex, ref) in sections[slot].leaves.enumerated() {
            if rest < Int(ref.count) {
                return LeafLocation(slot: slot, leafIndex: leafIndex, leaf: Int(ref.leaf), at: rest)
            }
            rest -= Int(ref.count)
        }
        preconditionFailure("Item \(item) is beyond the end of section \(index).")
    }

    /// Returns the path of the row at a rank in the whole list, which must exist.
    func path(atOffset offset: Int) -> ResultsIndexPath {
        var rest = offset
        for (index, ref) in order.enumerated() {
            if rest < Int(ref.count) { return ResultsIndexPath(section: index, item: rest) }
            rest -= Int(ref.count)
        }
        preconditionFailure("Offset \(offset) is beyond the end of the list.")
    }

    func row(at place: LeafLocation) -> ResultRow {
        withLeaf(place.leaf) { leaf in
            ResultRow(
                number: leaf.number(place.at), entityTag: leaf.tag(place.at),
                sortKey: leaf.key(place.at), section: sections[place.slot].name)
        }
    }

    /// Returns the row of a number; cheaper than its location.
    func row(of number: UInt64) -> ResultRow? {
        guard let (leaf, at) = spot(of: number) else { return nil }
        let slot = withLeaf(leaf) { Int($0.section) }
        return row(at: LeafLocation(slot: slot, leafIndex: 0, leaf: leaf, at: at))
    }

    /// Returns whether the row at a location equals a row.
    func holds(_ row: ResultRow, at place: LeafLocation) -> Bool {
        if isSectioned, sections[place.slot].name != row.section { return false }
        return row.sortKey.withUnsafeBytes { key in
            withLeaf(place.leaf) { leaf in
                leaf.tag(place.at) == row.entityTag && leaf.number(place.at) == row.number
                    && leaf.hasKey(key, at: place.at)
            }
        }
    }
}

extension Array {
    /// Returns the sum of the counts before an index, from the nearer end; `total` is the sum of
    /// all counts.
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
