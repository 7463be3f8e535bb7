import TandemModel
import TandemQuery
import TandemResults

/// Which rows of a list reach which objects over the to-one key paths that it observes.
///
/// Every prefix of a path is a node of a tree; each has a reverse index from the object reached to the rows. What rows
/// reach is pinned in the context as long as they are linked, and so are they themselves in a list that keeps its rows at hand.
/// Noting a row costs O(nodes).
struct ResultsLinks {
    private struct Node {
        /// The node that the hop starts at; nil for the row itself.
        var parent: Int?
        var slot: Int
        /// The slots that paths go on with from here.
        var watched = PropertyMask()
        var rows = ReverseIndex()
        /// What each row reaches here; nothing where its path ended before.
        var reached: [ObjectNumber: ObjectNumber] = [:]
    }

    private var nodes: [Node] = []
    /// The rows that are pinned; none if they are too many to be kept.
    private var pinned: Set<ObjectNumber> = []
    private let pinsRows: Bool

    /// An index over the to-one paths of a request; it has no nodes if all stay in the row.
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
        return nodes.count - 1
    }

    /// Whether there is nothing to follow.
    var isEmpty: Bool { nodes.isEmpty }

    /// The rows whose key, section or shown values may differ through changes of what they reach.
    func affected(by changes: [Change]) -> Set<ObjectNumber> {
        guard !nodes.isEmpty else { return [] }
        var found: Set<ObjectNumber> = []
        for change in changes where change.kind != .insert {
            for node in nodes {
                let isWatched =
                    change.kind == .delete
                    || !node.watched.intersection(change.changed).isEmpty
                if isWatched { found.formUnion(node.rows.rows(for: change.object.number)) }
            }
        }
        return found
    }

    /// The rows that reach an object; none in a list that does not keep its rows at hand.
    func rows(reaching object: ObjectNumber) -> Set<ObjectNumber> {
        guard pinsRows else { return [] }
        return nodes.reduce(into: []) { $0.formUnion($1.rows.rows(for: object)) }
    }

    /// Whether the reader holds everything that a row reaches.
    func isKnown(_ row: Row, _ reader: GroupReader) -> Bool {
        walk(row, reader.context, reader).isComplete
    }

    /// Notes what a row reaches now, in place of what it reached.
    mutating func note(
        _ number: ObjectNumber, _ row: Row, _ context: ManagedObjectContext, _ reader: GroupReader,
        _ versions: [ObjectNumber: UInt64]
    ) {
        guard !nodes.isEmpty else { return }
        let walk = walk(row, context, reader)
        if pinsRows, pinned.insert(number).inserted { context.records[number]?.pins += 1 }
        for (at, object) in walk.objects.enumerated() {
            let before = nodes[at].reached[number]
            if let object {
                nodes[at].rows.insert(row: number, for: object.number)
                nodes[at].reached[number] = object.number
                if case .row(let row) = reader.row(of: object) {
                    context.hold(object, row, version: versions[object.number])
                }
                context.record(object).pins += 1
            } else if before != nil {
                nodes[at].reached[number] = nil
            }
            release(before, at, of: number, context, isKept: before == object?.number)
        }
    }

    /// Forgets a row that left the list.
    mutating func forget(_ number: ObjectNumber, _ context: ManagedObjectContext) {
        if pinned.remove(number) != nil { context.records[number]?.unpin() }
        for at in nodes.indices {
            let before = nodes[at].reached.removeValue(forKey: number)
            release(before, at, of: number, context, isKept: false)
        }
    }

    /// Forgets all rows.
    mutating func forgetAll(_ context: ManagedObjectContext) {
        for at in nodes.indices {
            for object in nodes[at].reached.values { context.records[object]?.unpin() }
        }
        for number in pinned { context.records[number]?.unpin() }
        nodes = []
        pinned = []
    }

    private mutating func release(
        _ before: ObjectNumber?, _ at: Int, of row: ObjectNumber, _ context: ManagedObjectContext,
        isKept: Bool
    ) {
        guard let before else { return }
        context.records[before]?.unpin()
        if !isKept { nodes[at].rows.remove(row: row, for: before) }
    }

    private func walk(
        _ row: Row, _ context: ManagedObjectContext, _ reader: GroupReader
    ) -> (objects: [ObjectReference?], isComplete: Bool) {
        var rows = [Row?](repeating: nil, count: nodes.count)
        var objects = [ObjectReference?](repeating: nil, count: nodes.count)
        var isComplete = true
        for (at, node) in nodes.enumerated() {
            guard let start = node.parent.map({ rows[$0] }) ?? row,
                let entity = context.session?.model.entity(tagged: start.tag),
                let target = start.reference(node.slot, in: entity),
                context.session?.model.entity(tagged: target.tag) != nil
            else { continue }
            objects[at] = target
            switch reader.row(of: target) {
            case .row(let row): rows[at] = row
            case .missing: break
            case .unknown: isComplete = false
            }
        }
        return (objects, isComplete)
    }
}

extension ObjectRecord {
    fileprivate func unpin() { pins = max(0, pins - 1) }
}

extension ManagedObjectContext {
    /// Keeps a row that is true at the context's position, unless the context has one.
    func hold(_ object: ObjectReference, _ row: Row, version: UInt64?) {
        let record = record(object)
        guard record.row == nil, let version else { return }
        record.row = row
        record.version = version
        record.isMissing = false
    }
}
