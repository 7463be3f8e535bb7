import TandemModel
import TandemQuery
import TandemResults

/// An index of the objects that the rows of a list reach through the list's to-one key paths.
///
/// Every prefix of a key path is a node of a tree. Each node has a table of links from the rows to
/// the reached objects. An object is pinned in the context while any row links to it. Rows are
/// pinned as well if the list keeps its rows. Recording a row costs O(nodes).
struct ResultsLinks {
    private struct Node {
        /// The node at which the hop starts; nil if the hop starts at the row.
        var parent: Int?
        var slot: Int
        /// The slots that key paths read in the objects reached at this node.
        var watched = PropertyMask()
        /// The object that each row reaches; there is no entry if the row's path ends before this
        /// node.
        private var storedTable = LinkTable()
        /// The links of a new list until the first lookup by object; replaces `storedTable`.
        private var lazyTable: LazyLinkTable?

        init(parent: Int?, slot: Int) {
            self.parent = parent
            self.slot = slot
        }

        /// The table of the objects that rows reach at this node.
        var links: LinkTable {
            get { lazyTable?.table ?? storedTable }
            _modify {
                if let table = lazyTable?.table {
                    storedTable = table
                    lazyTable = nil
                }
                yield &storedTable
            }
        }

        /// Replaces the links with the links of a new list.
        mutating func adopt(_ links: UnindexedLinks) {
            storedTable = LinkTable()
            lazyTable = LazyLinkTable(links)
        }

        func isReached(_ object: ObjectNumber) -> Bool {
            lazyTable?.placed.isReached(object) ?? storedTable.isReached(object)
        }

        /// The objects that rows reach at this node, without duplicates.
        var objects: [ObjectNumber] {
            lazyTable.map { Array($0.placed.objects) } ?? storedTable.objects
        }
    }

    /// Links whose table is created on first use; copies of a node share it.
    private final class LazyLinkTable {
        let placed: UnindexedLinks
        private(set) lazy var table = placed.table

        init(_ placed: UnindexedLinks) { self.placed = placed }
    }

    private var nodes: [Node] = []
    /// The pinned rows; empty if there are too many rows to keep.
    private var pinned: Set<ObjectNumber> = []
    private let pinsRows: Bool
    /// The row slots at which key paths begin.
    private var firstSlots = PropertyMask()

    /// Creates an index over the to-one paths of a request; it has no nodes if all paths stay in
    /// the row.
    init(_ plan: ResultsPlan, pinsRows: Bool) {
        self.pinsRows = pinsRows
        guard plan.mode == .related else { return }
        for path in plan.compiled.paths where !path.staysInRow {
            var parent: Int?
            for hop in path.hops {
                if let parent { nodes[parent].watched.insert(hop.slot) }
                parent = node(parent, hop.slot)
            }
            if let parent, let final = path.final { nodes[parent].watched.insert(final.slot) }
        }
    }

    private mutating func node(_ parent: Int?, _ slot: Int) -> Int {
        if let at = nodes.firstIndex(where: { $0.parent == parent && $0.slot == slot }) {
            return at
        }
        nodes.append(Node(parent: parent, slot: slot))
        if parent == nil { firstSlots.insert(slot) }
        return nodes.count - 1
    }

    /// Returns the path of each hop as the names of the relationships from a row.
    func paths(in request: CompiledRequest) -> [[String]] {
        var paths: [[String]] = []
        var ends: [CompiledEntity?] = []
        for node in nodes {
            let start = node.parent.map { ends[$0] } ?? request.entity
            let property = start?.properties[node.slot]
            let end = property?.relationship?.destination
            ends.append(end.flatMap { request.model.entity(tagged: $0) })
            paths.append((node.parent.map { paths[$0] } ?? []) + [property?.name].compactMap { $0 })
        }
        return paths
    }

    /// Whether there are no hops.
    var isEmpty: Bool { nodes.isEmpty }

    /// Returns the rows whose key, section or shown values may differ because of these changes to
    /// related objects.
    func affected(by changes: [Change]) -> Set<ObjectNumber> {
        guard !nodes.isEmpty else { return [] }
        var found: Set<ObjectNumber> = []
        for change in changes where change.kind != .insert {
            for node in nodes {
                let isWatched =
                    change.kind == .delete
                    || !node.watched.intersection(change.changed).isEmpty
                if isWatched { found.formUnion(node.links.rows(for: change.object.number)) }
            }
        }
        return found
    }

    /// Returns whether an update to a row leaves its links unchanged, provided that no object on
    /// its paths changed; false if a path ends early.
    func staysLinked(_ number: ObjectNumber, _ changed: PropertyMask) -> Bool {
        if !changed.intersection(firstSlots).isEmpty { return false }
        for at in nodes.indices where nodes[at].links[number] == nil { return false }
        return true
    }

    /// Returns the rows that refer to an object; empty for a list that does not keep its rows.
    func rows(reaching object: ObjectNumber) -> Set<ObjectNumber> {
        guard pinsRows else { return [] }
        return nodes.reduce(into: []) { $0.formUnion($1.links.rows(for: object)) }
    }

    /// Returns whether the reader holds every object that a row reaches.
    func isKnown(_ row: Row, _ reader: GroupReader) -> Bool {
        var reached = Reached(nodes)
        for at in nodes.indices {
            if case .unknown? = follow(at, from: row, &reached, reader)?.found { return false }
        }
        return true
    }

    /// Records the links of all rows of a new list; O(n log n), with one lookup per object.
    mutating func record(
        _ rows: some Sequence<(number: ObjectNumber, row: Row)>, _ context: ManagedObjectContext,
        _ reader: GroupReader, _ versions: RowVersions
    ) {
        var links = nodes.map { _ in [LinkTable.Link]() }
        var seen: Set<ObjectNumber> = []
        for (number, row) in rows where !nodes.isEmpty {
            pin(number, context)
            var reached = Reached(nodes)
            for at in nodes.indices {
                guard let end = follow(at, from: row, &reached, reader) else { continue }
                links[at].append(LinkTable.Link(row: number, object: end.object.number))
                guard seen.insert(end.object.number).inserted else { continue }
                end.storeRow(context, versions)
                _ = context.graph.record(end.object)
            }
        }
        for at in nodes.indices {
            nodes[at].links = LinkTable(links[at])
            links[at] = []
            for object in nodes[at].links.objects { context.graph[object]?.pin() }
        }
    }

    /// Replaces the links of a row.
    mutating func record(
        _ number: ObjectNumber, _ row: Row, _ context: ManagedObjectContext, _ reader: GroupReader,
        _ versions: RowVersions
    ) {
        guard !nodes.isEmpty else { return }
        pin(number, context)
        var reached = Reached(nodes)
        for at in nodes.indices {
            let end = follow(at, from: row, &reached, reader)
            end?.storeRow(context, versions)
            let step = nodes[at].links.set(number, to: end?.object.number)
            if step.isFirst, let end { context.graph.record(end.object).pin() }
            if let object = step.released { context.graph[object]?.unpin() }
        }
    }

    /// Removes a row that left the list.
    mutating func forget(_ number: ObjectNumber, _ context: ManagedObjectContext) {
        if pinned.remove(number) != nil { context.graph[number]?.unpin() }
        for at in nodes.indices {
            let step = nodes[at].links.set(number, to: nil)
            if let object = step.released { context.graph[object]?.unpin() }
        }
    }

    /// Removes all rows.
    mutating func forgetAll(_ context: ManagedObjectContext) {
        for node in nodes {
            for object in node.objects { context.graph[object]?.unpin() }
        }
        for number in pinned { context.graph[number]?.unpin() }
        nodes = []
        pinned = []
    }

    private mutating func pin(_ number: ObjectNumber, _ context: ManagedObjectContext) {
        if pinsRows, pinned.insert(number).inserted { context.graph[number]?.pin() }
    }

    // MARK: Following hops

    /// The rows of the objects that one row reaches, by node; empty if all paths have one hop.
    private struct Reached {
        var rows: [Row?] = []

        init(_ nodes: [Node]) {
            if nodes.contains(where: { $0.parent != nil }) {
                rows = [Row?](repeating: nil, count: nodes.count)
            }
        }
    }

    /// The object at the end of a hop.
    private struct End {
        var object: ObjectReference
        var found: RowLookup

        /// Stores the object's row in the context.
        func storeRow(_ context: ManagedObjectContext, _ versions: RowVersions) {
            if case .row(let row) = found {
                context.graph.storeRow(object, row, version: versions[object.number])
            }
        }
    }

    /// Follows one hop from a row, after the earlier nodes; returns nil if the path ends before
    /// this node.
    private func follow(
        _ at: Int, from row: Row, _ reached: inout Reached, _ reader: GroupReader
    ) -> End? {
        let node = nodes[at]
        guard let start = node.parent.map({ reached.rows[$0] }) ?? row,
            let model = reader.context.session?.model, let entity = model.entity(tagged: start.tag),
            let object = start.reference(node.slot, in: entity),
            model.entity(tagged: object.tag) != nil
        else { return nil }
        let found = reader.row(of: object)
        if !reached.rows.isEmpty, case .row(let row) = found { reached.rows[at] = row }
        return End(object: object, found: found)
    }
}

// MARK: Caching

extension ResultsLinks {
    /// The number of hops, and so of links that a row may have.
    var hopCount: Int { nodes.count }

    /// Returns the links of rows in the form stored in a cache, or nil if the context lacks a
    /// reached object.
    func cachedLinks(of rows: [ResultRow], _ context: ManagedObjectContext) -> CachedLinks? {
        var cached = CachedLinks()
        cached.hopCount = nodes.count
        cached.objectIndices.reserveCapacity(rows.count * nodes.count)
        var indices: [ObjectNumber: UInt32] = [:]
        for row in rows {
            for node in nodes {
                guard let number = node.links[row.number] else {
                    cached.objectIndices.append(0)
                    continue
                }
                if indices[number] == nil {
                    guard let record = context.graph[number] else { return nil }
                    cached.objects.append(record.reference)
                    indices[number] = UInt32(cached.objects.count)
                }
                cached.objectIndices.append(indices[number] ?? 0)
            }
        }
        return cached
    }

    /// Adopts the links of a list's rows, except the links of changed rows.
    ///
    /// If the reader has the row of a reached object, the row is stored in the context.
    mutating func adopt(
        _ list: PlacementList, without changedRows: Set<ObjectNumber>,
        _ context: ManagedObjectContext,
        _ reader: GroupReader, _ versions: RowVersions
    ) {
        if let places = list.placements, changedRows.isEmpty, places.hopCount == nodes.count {
            for at in nodes.indices { nodes[at].adopt(places.links(hop: at)) }
            pinReached(places.reached, context, reader, versions)
        } else {
            let links = list.links
            adopt(links, of: list.rows, without: changedRows)
            pinReached(links.objects, context, reader, versions)
        }
    }

    private mutating func adopt(
        _ cached: CachedLinks, of rows: [ResultRow], without changedRows: Set<ObjectNumber>
    ) {
        for at in nodes.indices {
            var links: [LinkTable.Link] = []
            for (index, row) in rows.enumerated() where !changedRows.contains(row.number) {
                guard let object = cached.object(row: index, hop: at) else { continue }
                links.append(LinkTable.Link(row: row.number, object: object.number))
            }
            nodes[at].links = LinkTable(links)
        }
    }

    /// Pins the reached objects, and stores their rows in the context.
    private func pinReached(
        _ objects: [ObjectReference], _ context: ManagedObjectContext, _ reader: GroupReader,
        _ versions: RowVersions
    ) {
        for object in objects {
            let pins = nodes.count { $0.isReached(object.number) }
            if pins == 0 { continue }
            context.graph.record(object).pin(pins)
            End(object: object, found: reader.row(of: object)).storeRow(context, versions)
        }
    }
}

extension ObjectRecord {
    fileprivate func unpin() { if pins > 0 { pin(-1) } }
}
