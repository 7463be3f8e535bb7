import TandemModel

/// Loads objects along key paths, so that later reads need no requests.
struct Prefetcher: ContextPart {
    let context: ManagedObjectContext

    /// Loads objects and the objects that key paths reach from them.
    func load(
        _ objects: [ObjectReference], prefetching keyPaths: [String], _ calls: DaemonCalls
    ) async throws {
        let model = try await connectedSession(calls).model
        for tag in Set(objects.map(\.tag)) {
            for path in keyPaths { try Self.check(prefetched: path, tag, model) }
        }
        try await loader.load(objects, calls)
        var frontiers = keyPaths.map { path in
            PrefetchFrontier(objects: objects, rest: path.split(separator: ".")[...])
        }
        while true {
            frontiers.removeAll { $0.rest.isEmpty || $0.objects.isEmpty }
            if frontiers.isEmpty { return }
            frontiers = try await followHop(of: frontiers, calls)
        }
    }

    /// Loads the objects reached by the first hop of every frontier; returns the next frontiers.
    private func followHop(
        of frontiers: [PrefetchFrontier], _ calls: DaemonCalls
    ) async throws -> [PrefetchFrontier] {
        let hops = frontiers.map { $0.hop(in: graph) }
        try await loader.load(
            Set(hops.flatMap(\.reached)).sorted(), members: hops.flatMap(\.lists),
            withRows: true, calls)
        return zip(frontiers, hops).map { front, hop in
            let members = hop.lists.flatMap { list in
                graph.members(of: graph.record(list.owner), list.slot) ?? []
            }
            return PrefetchFrontier(
                objects: Set(hop.reached).union(members).sorted(), rest: front.rest.dropFirst())
        }
    }

    private static func check(
        prefetched path: String, _ tag: EntityTag, _ model: CompiledModel
    ) throws(TandemError) {
        var entity = model.entity(tagged: tag)
        for name in path.split(separator: ".", omittingEmptySubsequences: false) {
            guard let owner = entity, let property = owner.property(named: String(name)),
                let relationship = property.relationship
            else {
                throw TandemError(
                    .unknownProperty,
                    "\(entity?.name ?? "?") has no relationship `\(name)`, so `\(path)` cannot be prefetched"
                )
            }
            entity = model.entity(tagged: relationship.destination)
        }
    }
}

extension ContextPart {
    var prefetcher: Prefetcher { Prefetcher(context: context) }
}

/// Objects whose remaining key path is still to be loaded.
private struct PrefetchFrontier {
    var objects: [ObjectReference]
    var rest: ArraySlice<Substring>

    /// Returns the objects that the first hop reaches, and the member lists that have to be
    /// requested.
    func hop(
        in graph: ObjectGraph
    ) -> (reached: [ObjectReference], lists: [(owner: ObjectReference, slot: Int)]) {
        var reached: [ObjectReference] = []
        var lists: [(owner: ObjectReference, slot: Int)] = []
        for record in objects.map(graph.record) where !record.isDeleted {
            guard let name = rest.first, let slot = record.entity.slot(of: String(name)) else {
                continue
            }
            if !record.entity.properties[slot].isToMany {
                reached += record.value(slot)?.reference.map { [$0] } ?? []
            } else if let members = graph.members(of: record, slot) {
                reached += members
            } else {
                lists.append((record.reference, slot))
            }
        }
        return (reached, lists)
    }
}
