import TandemModel
import TandemQuery
import TandemStore

/// A search for the objects whose verdict, order or row may be affected by changes.
///
/// The search follows the observed key paths of a request backwards over their inverses. It
/// proceeds hop by hop, from all changed objects at once, in the current graph.
///
/// **Why not in the previous graph too.** If a path no longer leads from an object to a changed
/// one, one of its hops was altered. The owner of the first altered hop changed in that
/// relationship, and the hops before it are unchanged. So the search finds the object from that
/// owner. Deletions alter hops in the same way under any delete rule, because references never
/// dangle.
struct CandidateSearch {
    /// An inverse path: the first hops of a key path, followed backwards from changed objects.
    private struct InversePath {
        /// The index of the key path.
        var keyPath: Int
        /// The number of its first hops.
        var hopCount: Int
        /// The property that must have changed, and the entities that have it.
        var slot: Int
        var tags: Set<EntityTag>
    }

    private let request: CompiledRequest
    private let changes: [ChangedObject]
    private let reader: StoreReader
    private let budget: ReadBudget

    /// Creates the search for the effects of changes on a request.
    init(
        _ request: CompiledRequest, _ changes: [ChangedObject], _ reader: StoreReader,
        _ budget: ReadBudget
    ) {
        self.request = request
        self.changes = changes
        self.reader = reader
        self.budget = budget
    }

    /// Returns the distinct objects in ascending order.
    ///
    /// Throws ``StoreError`` if the search exceeds the ``ReadBudget``, and `storage` if something
    /// can't be read.
    func candidates() throws -> [ObjectReference] {
        budget.endObject()
        var found = Set(changes.lazy.map(\.object).filter { request.includes(tag: $0.tag) })
        for path in inversePaths {
            // Eight changes take about as long as one object.
            try budget.charge(1 + changes.count / 8, heldBytes: 0)
            found.formUnion(try objects(at: path).filter { request.includes(tag: $0.tag) })
        }
        var candidates = Array(found)
        try budget.sort(&candidates, by: <)
        return candidates
    }

    /// Returns the objects at the end of an inverse path.
    private func objects(at path: InversePath) throws -> Set<ObjectReference> {
        var objects = Set(
            changes.lazy.filter { $0.mask.contains(path.slot) && path.tags.contains($0.object.tag) }
                .map(\.object))
        let hops = request.paths[path.keyPath].hops[..<path.hopCount]
        for hop in hops.reversed() where !objects.isEmpty {
            guard
                let relationship = request.model.entity(tagged: hop.owner)?.properties[hop.slot]
                    .relationship
            else { preconditionFailure("A hop is a relationship.") }
            var owners: Set<ObjectReference> = []
            for object in objects {
                owners.formUnion(predecessors(of: object, relationship))
                try budget.expectAllWasRead()
                try budget.charge(
                    1,
                    heldBytes: (objects.count + owners.count)
                        * MemoryLayout<ObjectReference>.stride * 2)
            }
            objects = owners
        }
        return objects
    }

    private static func tags(_ tag: EntityTag, _ request: CompiledRequest) -> Set<EntityTag> {
        Set(request.model.entity(tagged: tag)?.descendants ?? [])
    }

    private var inversePaths: [InversePath] {
        changes.isEmpty
            ? []
            : request.paths.enumerated().flatMap { index, path in
                var ends = path.hops.enumerated().dropFirst().map {
                    ($0, $1.slot, Self.tags($1.owner, request))
                }
                if let final = path.final, let last = path.hops.last {
                    let owners = Self.tags(last.destination, request)
                        .intersection(Self.tags(final.entity, request))
                    ends.append((path.hops.count, final.slot, owners))
                }
                return ends.map { InversePath(keyPath: index, hopCount: $0, slot: $1, tags: $2) }
            }
    }

    private func predecessors(
        of object: ObjectReference, _ relationship: CompiledRelationship
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
}
