import TandemModel
import TandemQuery
import TandemStore

/// An object that transactions changed, and every property that they changed in it.
struct ChangedObject {
    let object: ObjectReference
    var mask: PropertyMask
}

/// Looks for the objects whose verdict, order or row changes may have altered, some at a time.
///
/// They are found by following the observed key paths of a request backwards over their inverses, hop by hop from all that changed
/// at once, in the graph as it is.
///
/// **Why not in the graph as it was, too.** Where a path no longer leads from an object to one that changed, one of its hops was
/// altered. The owner of the first such hop changed in that relationship, and the hops before it are as they were: from that owner the
/// search leads to the object. Deletions alter hops in the same way, whatever their rule, as no reference may dangle.
///
/// **Why the latter may change meanwhile.** What is changed behind the beginning of a search is searched for by another one, later. A way
/// to a changed object that is there in the end was there when the search came by, or was altered since. Then the owner of
/// the first hop that was altered is itself changed, and the way to that one, which was not, is found by the later search.
///
/// State:
/// - `ways`, `way`: the ways back that are yet to be gone, and the one that is being gone.
/// - `objects`, `next`: where that has come to, in order, some perhaps twice; `before`: what lies one hop before.
/// - `found`: what ways led to, as sorted runs.
struct CandidateSearch {
    /// A way back from what changed: over the first hops of a path.
    private struct Way {
        var path: Int
        var hops: Int
        /// The property that has to have changed, and the entities that have it.
        var slot: Int
        var tags: Set<EntityTag>
    }

    private let request: CompiledRequest
    private let changes: [ChangedObject]
    private var ways: [Way]
    private var way: Way?
    private var objects: [ObjectReference] = []
    private var next = 0
    private var before = RunMerge<ObjectReference>(by: <)
    private var found = RunMerge<ObjectReference>(by: <)
    private(set) var isDone: Bool

    /// Looks for what changes mean for a request, and for a plan of it that walks indexes over related objects.
    init(
        _ request: CompiledRequest, _ changes: [ChangedObject], walked: [WalkedIndex] = []
    ) {
        self.request = request
        self.changes = changes
        ways =
            changes.isEmpty
            ? [] : Self.ways(of: request) + walked.flatMap { Self.ways(to: $0, request) }
        isDone = changes.isEmpty
        found.add(changes.map(\.object).filter { request.includes(tag: $0.tag) }.sorted())
    }

    private static func tags(_ tag: EntityTag, _ request: CompiledRequest) -> Set<EntityTag> {
        Set(request.model.entity(tagged: tag)?.descendants ?? [])
    }

    /// The ways back from the objects of an index, whichever of its properties changed: over the first path that leads there.
    private static func ways(to index: WalkedIndex, _ request: CompiledRequest) -> [Way] {
        let path = request.paths.firstIndex { $0.hops.map(\.slot).starts(with: index.hops) }
        guard let path, let last = request.paths[path].hops[..<index.hops.count].last else {
            return []
        }
        return index.slots.map { slot in
            Way(
                path: path, hops: index.hops.count, slot: slot,
                tags: tags(last.destination, request))
        }
    }

    private static func ways(of request: CompiledRequest) -> [Way] {
        var ways: [Way] = []
        for (index, path) in request.paths.enumerated() {
            var ends = path.hops.enumerated().dropFirst().map {
                ($0, $1.slot, tags($1.owner, request))
            }
            if let final = path.final, let last = path.hops.last {
                let owners = tags(last.destination, request)
                    .intersection(tags(final.entity, request))
                ends.append((path.hops.count, final.slot, owners))
            }
            ways += ends.map { Way(path: index, hops: $0, slot: $1, tags: $2) }
        }
        return ways
    }

    /// What was found, in order, some perhaps more than once; when it is done.
    var candidates: [ObjectReference] { found.whole }

    /// About the bytes that it holds.
    var bytes: Int {
        found.bytes + before.bytes + objects.count * MemoryLayout<ObjectReference>.stride
            + changes.count * MemoryLayout<ChangedObject>.stride
    }

    /// Goes on until `budget` objects are looked at; true when all are found.
    ///
    /// Throws ``StoreError`` when that takes more than ``ReadBudget`` has, `storage` when something can't be read.
    mutating func step(_ graphs: VerdictGraphs, _ budget: inout Int) throws -> Bool {
        graphs.budget.endObject()
        while !isDone, budget > 0 {
            if next < objects.count {
                try goBack(graphs, &budget)
            } else if way != nil {
                guard before.step(&budget) else { break }
                endHop()
            } else if let next = ways.popLast() {
                begin(next, &budget)
            } else {
                isDone = found.step(&budget)
            }
        }
        return isDone
    }

    private mutating func begin(_ way: Way, _ budget: inout Int) {
        budget -= 1 + changes.count / 8
        objects = changes.lazy.filter {
            $0.mask.contains(way.slot) && way.tags.contains($0.object.tag)
        }
        .map(\.object)
        next = 0
        self.way = objects.isEmpty ? nil : way
    }

    /// Takes objects one hop back, as many as there is budget for.
    private mutating func goBack(_ graphs: VerdictGraphs, _ budget: inout Int) throws {
        guard let way else { return }
        let hop = request.paths[way.path].hops[way.hops - 1]
        guard
            let relationship = request.model.entity(tagged: hop.owner)?.properties[hop.slot]
                .relationship
        else { preconditionFailure("A hop is a relationship.") }
        var owners: [ObjectReference] = []
        while budget > 0, next < objects.count {
            let object = objects[next]
            next += 1
            guard next == 1 || objects[next - 2] != object else { continue }
            owners += predecessors(of: object, relationship, graphs.now)
            budget -= 1 + graphs.budget.takeSpent()
            try graphs.check()
        }
        before.add(owners.sorted())
    }

    private func predecessors(
        of object: ObjectReference, _ relationship: CompiledRelationship, _ reader: PastReader
    ) -> [ObjectReference] {
        guard let entity = request.model.entity(tagged: object.tag),
            relationship.inverseSlot < entity.properties.count,
            let inverse = entity.properties[relationship.inverseSlot].relationship
        else { return [] }
        if inverse.toMany {
            return reader.members(of: object, inverse, slot: relationship.inverseSlot) ?? []
        }
        guard case .row(let row) = reader.row(of: object) else { return [] }
        return row.reference(relationship.inverseSlot, in: entity).map { [$0] } ?? []
    }

    /// Goes on from what lies one hop before, or ends a way that has none left.
    private mutating func endHop() {
        objects = before.whole
        before = RunMerge(by: <)
        next = 0
        way?.hops -= 1
        guard objects.isEmpty || way?.hops == 0 else { return }
        found.add(objects.filter { request.includes(tag: $0.tag) })
        objects = []
        way = nil
    }
}
