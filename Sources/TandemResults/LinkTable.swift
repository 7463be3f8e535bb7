/// For one hop of a key path: which object each row of a list reaches, and which rows reach an object.
///
/// It answers which rows are affected when an object changed, without a scan, and takes 10 to 12 bytes a row where many
/// rows reach the same object, up to 30 where each reaches its own: the links lie sorted by object in blocks (the leaves of a B+
/// tree) that name each object once and the rows in four bytes each, and a ``NumberTable`` finds the block of a row.
/// Looking up and setting a link cost a binary search over the blocks and a look through one; listing rows O(rows) besides.
///
///     var buckets = LinkTable()
///     buckets.set(33, to: 7)
///     buckets[33]                     // 7
///     buckets.rows(for: 7)            // [33]
public struct LinkTable: Sendable {
    /// What setting a link led to.
    public struct Step: Hashable, Sendable {
        /// Whether no row reached the row's object before.
        public var isFirst = false
        /// The object that the row reached before and that no row reaches now.
        public var released: UInt64?
    }

    /// A row and the object that it reaches.
    public struct Link: Hashable, Comparable, Sendable {
        /// The row's number.
        public var row: UInt64
        /// The object's number.
        public var object: UInt64

        /// Makes a link.
        public init(row: UInt64, object: UInt64) {
            self.row = row
            self.object = object
        }

        /// Orders by object, then by row.
        public static func < (left: Link, right: Link) -> Bool {
            left.object == right.object ? left.row < right.row : left.object < right.object
        }
    }

    private var blocks: [LinkBlock] = []
    private var freeBlocks: [Int] = []
    /// The blocks that have links, in the order of these.
    private var order: [UInt32] = []
    private var home = NumberTable()

    /// Makes an empty table.
    public init() {}

    /// Makes a table of links in any order; O(n log n).
    ///
    /// Of links of the same row the last one counts.
    public init(_ links: [Link]) {
        if let table = LinkTable(sorted: links.sorted()[...]) {
            self = table
            return
        }
        for link in links { set(link.row, to: link.object) }
    }

    /// Makes a table of sorted links; nil when a row is there twice.
    init?(sorted links: ArraySlice<Link>) {
        var rest = links
        while !rest.isEmpty {
            let part = rest.prefix(LinkBlock.bulkFill)
            rest = rest.dropFirst(part.count)
            order.append(UInt32(blocks.count))
            blocks.append(LinkBlock(part))
        }
        if !fillHome() { return nil }
    }

    /// How many rows reach an object.
    public var count: Int { home.count }

    /// The object that a row reaches.
    public subscript(row: UInt64) -> UInt64? {
        spot(of: row).map { blocks[$0.block].object($0.at) }
    }

    /// Every object that a row reaches, once, ascending; O(n).
    public var objects: [UInt64] {
        var all: [UInt64] = []
        for block in order {
            for run in blocks[Int(block)].runs where run.object != all.last {
                all.append(run.object)
            }
        }
        return all
    }

    /// Whether any row reaches an object.
    public func isReached(_ object: UInt64) -> Bool {
        guard !order.isEmpty else { return false }
        return blocks[Int(order[index(of: Link(row: .max, object: object))])].reaches(object)
    }

    /// The rows that reach an object, ascending.
    public func rows(for object: UInt64) -> [UInt64] {
        var rows: [UInt64] = []
        let first = index(of: Link(row: 0, object: object))
        for block in order.dropFirst(first) {
            guard blocks[Int(block)].first.object <= object else { break }
            blocks[Int(block)].append(rowsOf: object, to: &rows)
        }
        return rows
    }

    /// Lets a row reach an object in place of what it reached; nil for none.
    @discardableResult
    public mutating func set(_ row: UInt64, to object: UInt64?) -> Step {
        var step = Step()
        if let spot = spot(of: row) {
            let before = blocks[spot.block].object(spot.at)
            if before == object { return step }
            step.released = remove(Link(row: row, object: before), spot.block, spot.at)
        }
        if let object { step.isFirst = insert(Link(row: row, object: object)) }
        return step
    }

    // MARK: Blocks

    private func spot(of row: UInt64) -> (block: Int, at: Int)? {
        var found = 0
        let block = home.place(of: row) { block in
            guard let at = blocks[block].rows.firstIndex(of: row) else { return false }
            found = at
            return true
        }
        return block.map { ($0, found) }
    }

    /// The place in `order` of the last block that does not begin behind a link; 0 if there is none.
    private func index(of link: Link) -> Int {
        max(0, order.partition { blocks[Int($0)].first > link } - 1)
    }

    /// Whether the block at a place in `order` has rows that reach an object.
    private func reaches(_ object: UInt64, at index: Int) -> Bool {
        guard order.indices.contains(index) else { return false }
        let runs = blocks[Int(order[index])].runs
        return runs.first?.object == object || runs.last?.object == object
    }

    /// Puts a link in; says whether it is the first to its object.
    private mutating func insert(_ link: Link) -> Bool {
        if order.isEmpty {
            let block = add(LinkBlock([link]))
            order.append(UInt32(block))
            enter(link.row, in: block)
            return true
        }
        let index = index(of: link)
        let block = Int(order[index])
        let isFirst = blocks[block].insert(link) && !reaches(link.object, at: index + 1)
        enter(link.row, in: block)
        if blocks[block].rows.count >= LinkBlock.capacity { split(index) }
        return isFirst
    }

    /// Takes a link out; gives its object if it was the last to it.
    private mutating func remove(_ link: Link, _ block: Int, _ at: Int) -> UInt64? {
        let isGone = blocks[block].rows.count == 1 || blocks[block].isAlone(at)
        let isSmall = blocks[block].rows.count <= LinkBlock.capacity / 4
        let index = isGone || isSmall ? index(of: link) : 0
        home.remove(link.row, at: block)
        blocks[block].remove(at)
        defer { if isSmall { join(index) } }
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

    /// Joins a small block with a neighbour if both together leave room; drops it if it is empty.
    private mutating func join(_ index: Int) {
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
            blocks[free] = block
            return free
        }
        blocks.append(block)
        return blocks.count - 1
    }

    private mutating func move(_ links: ArraySlice<Link>, from old: Int, to new: Int) {
        for link in links where !home.move(link.row, from: old, to: new) {
            fillHome()
            return
        }
    }

    private mutating func enter(_ row: UInt64, in block: Int) {
        if !home.insert(row, at: block) { fillHome() }
    }

    /// Enters every row's block into a new `home`; false if a row is in the table twice.
    @discardableResult
    private mutating func fillHome() -> Bool {
        let count = blocks.reduce(0) { $0 + $1.rows.count }
        let room = home.count == 0 ? count : count + count / 4 + 8
        var home = NumberTable(room: room, places: blocks.count * 2)
        for (block, links) in blocks.enumerated() {
            for at in 0..<links.rows.count {
                let row = links.rows[at]
                let isNew = home.insertNew(row, at: block) { other in
                    let known = blocks[other].rows.firstIndex(of: row)
                    return known.map { (other, $0) != (block, at) } ?? false
                }
                if !isNew { return false }
            }
        }
        self.home = home
        return true
    }
}
