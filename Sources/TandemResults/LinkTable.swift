import Algorithms

/// The links of a list for one hop of a key path: the object to which each row refers, and the rows
/// that refer to an object.
///
/// The table finds the rows affected by an object's change without a scan. It takes 10 to 12 bytes
/// per row if many rows refer to the same object, and up to 30 if each refers to its own object.
/// Links are sorted by object in blocks (the leaves of a B+ tree), which store each object once,
/// and each row in four bytes. A ``NumberTable`` finds the block of a row. Finding and setting a
/// link costs a binary search over the blocks and a scan of one block; listing rows costs O(rows)
/// in addition.
///
///     var buckets = LinkTable()
///     buckets.set(33, to: 7)
///     buckets[33]                     // 7
///     buckets.rows(for: 7)            // [33]
@usableFromInline package struct LinkTable: Sendable {
    /// The effect of setting a link.
    package struct Step: Hashable, Sendable {
        /// Whether no row referred to the new object before.
        package var isFirst = false
        /// The previous object of the row, if no row refers to it any more.
        package var released: UInt64?
    }

    /// A row and the object to which it refers.
    @usableFromInline package struct Link: Hashable, Comparable, Sendable {
        /// The row's number.
        package var row: UInt64
        /// The object's number.
        package var object: UInt64

        /// Creates a link.
        @usableFromInline package init(row: UInt64, object: UInt64) {
            self.row = row
            self.object = object
        }

        /// Compares by object, then by row.
        @usableFromInline package static func < (left: Link, right: Link) -> Bool {
            left.object == right.object ? left.row < right.row : left.object < right.object
        }
    }

    private var blocks: [LinkBlock] = []
    private var freeBlocks: [Int] = []
    /// The blocks with links, sorted by their links.
    private var order: [UInt32] = []
    private var blockByRow = NumberTable()

    /// Creates an empty table.
    package init() {}

    /// Creates a table of links in any order; cost: O(n log n).
    ///
    /// If a row has several links, the last one wins.
    package init(_ links: [Link]) {
        if let table = LinkTable(sorted: links.sorted()[...]) {
            self = table
            return
        }
        for link in links { set(link.row, to: link.object) }
    }

    /// Creates a table of sorted links; returns nil if a row occurs twice.
    init?(sorted links: ArraySlice<Link>) {
        var rest = links
        while !rest.isEmpty {
            let part = rest.prefix(LinkBlock.bulkFill)
            rest = rest.dropFirst(part.count)
            order.append(UInt32(blocks.count))
            blocks.append(LinkBlock(part))
        }
        if !rebuildIndex() { return nil }
        checkInvariants()
    }

    /// The number of rows with a link.
    package var count: Int { blockByRow.count }

    /// Returns the object to which a row refers; nil if it has no link.
    package subscript(row: UInt64) -> UInt64? {
        spot(of: row).map { blocks[$0.block].object($0.at) }
    }

    /// The distinct objects to which rows refer, ascending; cost: O(n).
    package var objects: [UInt64] {
        var all: [UInt64] = []
        for block in order {
            for run in blocks[Int(block)].runs where run.object != all.last {
                all.append(run.object)
            }
        }
        return all
    }

    /// Returns whether any row refers to an object.
    package func isReached(_ object: UInt64) -> Bool {
        guard !order.isEmpty else { return false }
        return blocks[Int(order[index(of: Link(row: .max, object: object))])].reaches(object)
    }

    /// Returns the rows that refer to an object, ascending.
    package func rows(for object: UInt64) -> [UInt64] {
        var rows: [UInt64] = []
        let first = index(of: Link(row: 0, object: object))
        for block in order.dropFirst(first) {
            guard blocks[Int(block)].first.object <= object else { break }
            blocks[Int(block)].append(rowsOf: object, to: &rows)
        }
        return rows
    }

    /// Sets the object to which a row refers; nil for none.
    @discardableResult
    package mutating func set(_ row: UInt64, to object: UInt64?) -> Step {
        var step = Step()
        if let spot = spot(of: row) {
            let before = blocks[spot.block].object(spot.at)
            if before == object { return step }
            step.released = remove(Link(row: row, object: before), spot.block, spot.at)
        }
        if let object { step.isFirst = insert(Link(row: row, object: object)) }
        assert(self[row] == object, "The row refers to the given object, or to none.")
        checkInvariants()
        return step
    }

    /// Asserts that `blocks`, `order` and `blockByRow` are consistent with each other; called after
    /// every change.
    private func checkInvariants() {
        assert(
            blocks.count == order.count + freeBlocks.count, "Each block is in `order` or free.")
        assert(!Invariants.walk(count) || isConsistent, "Each row occurs once, in order.")
    }

    private var isConsistent: Bool {
        let links = order.flatMap { blocks[Int($0)].links }
        return links.count == blockByRow.count
            && order.allSatisfy { !blocks[Int($0)].rows.isEmpty }
            && freeBlocks.allSatisfy { blocks[$0].rows.isEmpty }
            && zip(links, links.dropFirst()).allSatisfy { $0 < $1 }
            && links.allSatisfy { self[$0.row] == $0.object }
    }

    // MARK: Blocks

    private func spot(of row: UInt64) -> (block: Int, at: Int)? {
        var found = 0
        let block = blockByRow.index(of: row) { block in
            guard let at = blocks[block].rows.firstIndex(of: row) else { return false }
            found = at
            return true
        }
        return block.map { ($0, found) }
    }

    /// Returns the index in `order` of the last block that does not begin after `link`; 0 if all
    /// blocks do.
    private func index(of link: Link) -> Int {
        max(0, order.partitioningIndex { blocks[Int($0)].first > link } - 1)
    }

    /// Returns whether the block at an index in `order` has rows that refer to an object.
    private func reaches(_ object: UInt64, at index: Int) -> Bool {
        guard order.indices.contains(index) else { return false }
        let runs = blocks[Int(order[index])].runs
        return runs.first?.object == object || runs.last?.object == object
    }

    /// Inserts a link; returns whether no row referred to its object before.
    private mutating func insert(_ link: Link) -> Bool {
        if order.isEmpty {
            let block = add(LinkBlock([link]))
            order.append(UInt32(block))
            addToIndex(link.row, in: block)
            return true
        }
        let index = index(of: link)
        let block = Int(order[index])
        let isFirst = blocks[block].insert(link) && !reaches(link.object, at: index + 1)
        addToIndex(link.row, in: block)
        if blocks[block].rows.count >= LinkBlock.capacity { split(index) }
        return isFirst
    }

    /// Removes a link; returns its object if no row refers to it any more.
    private mutating func remove(_ link: Link, _ block: Int, _ at: Int) -> UInt64? {
        let isGone = blocks[block].rows.count == 1 || blocks[block].isAlone(at)
        assert(blocks[block].rows[at] == link.row, "`blockByRow` maps the row to its block.")
        let isSmall = blocks[block].rows.count <= LinkBlock.capacity / 4
        let index = isGone || isSmall ? index(of: link) : 0
        blockByRow.remove(link.row, at: block)
        blocks[block].remove(at)
        defer { if isSmall { mergeOrDrop(index) } }
        guard isGone, !reaches(link.object, at: index - 1), !reaches(link.object, at: index + 1)
        else { return nil }
        return link.object
    }

    private mutating func split(_ index: Int) {
        let lower = Int(order[index])
        let links = blocks[lower].links
        let half = links.count / 2
        let upper = add(LinkBlock(links[half...]))
        blocks[lower] = LinkBlock(links[..<half])
        order.insert(UInt32(upper), at: index + 1)
        move(links[half...], from: lower, to: upper)
    }

    /// Merges a small block with a neighbour if both fit into half a block; removes it if it is
    /// empty.
    private mutating func mergeOrDrop(_ index: Int) {
        if blocks[Int(order[index])].rows.isEmpty { return drop(index) }
        let lower = index + 1 == order.count ? index - 1 : index
        guard lower >= 0, lower + 1 < order.count else { return }
        let (left, right) = (Int(order[lower]), Int(order[lower + 1]))
        guard blocks[left].rows.count + blocks[right].rows.count <= LinkBlock.capacity / 2
        else { return }
        let links = blocks[right].links
        blocks[left] = LinkBlock((blocks[left].links + links)[...])
        drop(lower + 1)
        move(links[...], from: right, to: left)
    }

    private mutating func drop(_ index: Int) {
        let block = Int(order.remove(at: index))
        blocks[block] = LinkBlock([])
        freeBlocks.append(block)
    }

    private mutating func add(_ block: LinkBlock) -> Int {
        if let free = freeBlocks.popLast() {
            assert(blocks[free].rows.isEmpty, "A free block has no links.")
            blocks[free] = block
            return free
        }
        blocks.append(block)
        return blocks.count - 1
    }

    private mutating func move(_ links: ArraySlice<Link>, from old: Int, to new: Int) {
        for link in links where !blockByRow.move(link.row, from: old, to: new) {
            let isUnique = rebuildIndex()
            assert(isUnique, "A row that is moved between blocks is in one of them.")
            return
        }
    }

    private mutating func addToIndex(_ row: UInt64, in block: Int) {
        if blockByRow.insert(row, at: block) { return }
        let isUnique = rebuildIndex()
        assert(isUnique, "A row is inserted after its previous link was removed.")
    }

    /// Rebuilds `blockByRow` from the blocks; returns false if a row occurs twice.
    private mutating func rebuildIndex() -> Bool {
        let count = blocks.reduce(0) { $0 + $1.rows.count }
        let room = blockByRow.count == 0 ? count : count + count / 4 + 8
        var blockByRow = NumberTable(room: room, places: blocks.count * 2)
        for (block, links) in blocks.enumerated() {
            for at in 0..<links.rows.count {
                let row = links.rows[at]
                let isNew = blockByRow.insertNew(row, at: block) { other in
                    let known = blocks[other].rows.firstIndex(of: row)
                    return known.map { (other, $0) != (block, at) } ?? false
                }
                if !isNew { return false }
            }
        }
        self.blockByRow = blockByRow
        return true
    }
}
