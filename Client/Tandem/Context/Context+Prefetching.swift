import TandemModel

/// Loading what key paths lead to, so that reading it later asks nothing.
extension ManagedObjectContext {
    /// Loads objects and what key paths lead to from them; blocks.
    ///
    ///     try context.load(teams, prefetching: ["league", "players.club"])
    ///
    /// One request for each step of the longest path, however many objects and paths there are: rows of related objects, and members with
    /// their rows. Nothing is asked for what is held. Without it each step of each object is a request when it is first read.
    /// What is loaded and not used by anybody may be forgotten again (`limits.cachedRows`).
    /// Throws `unknownProperty` for a key path that does not lead over relationships, and what reads throw.
    public func load(
        _ objects: some Sequence<ManagedObject>, prefetching keyPaths: [String]
    ) throws {
        try loadStep(objects.map(\.record.reference), prefetching: keyPaths).run(on: connection)
    }

    /// Loads objects and what key paths lead to from them.
    public nonisolated(nonsending) func load(
        _ objects: [ManagedObject], prefetching keyPaths: [String]
    ) async throws {
        try await loadStep(objects.map(\.record.reference), prefetching: keyPaths)
            .runUnlessCancelled(on: connection)
    }

    // MARK: Steps

    func loadStep(
        _ objects: [ObjectReference], prefetching keyPaths: [String]
    ) throws -> Step<Void> {
        try sessionStep().then { session in
            for tag in Set(objects.map(\.tag)) {
                for path in keyPaths { try Self.check(prefetched: path, tag, session.model) }
            }
            return try self.loadStep(objects, members: []).then { _ in
                let fronts = keyPaths.map { path in
                    PrefetchFront(objects: objects, rest: path.split(separator: ".")[...])
                }
                return try self.prefetchStep(fronts)
            }
        }
    }

    /// Goes one hop on from every front, and then on from there.
    private func prefetchStep(_ fronts: [PrefetchFront]) throws -> Step<Void> {
        let fronts = fronts.filter { !$0.rest.isEmpty && !$0.objects.isEmpty }
        guard !fronts.isEmpty else { return .done(()) }
        let hops = fronts.map { $0.hop(in: self) }
        return try loadStep(
            Set(hops.flatMap(\.reached)).sorted(), members: hops.flatMap(\.lists), withRows: true
        ).then { _ in
            let next = zip(fronts, hops).map { front, hop in
                let members = hop.lists.flatMap { list in
                    self.members(of: self.record(list.owner), list.slot) ?? []
                }
                return PrefetchFront(
                    objects: Set(hop.reached).union(members).sorted(), rest: front.rest.dropFirst())
            }
            return try self.prefetchStep(next)
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
                    "\(entity?.name ?? "?") has no relationship `\(name)` (to prefetch `\(path)`)")
            }
            entity = model.entity(tagged: relationship.destination)
        }
    }
}

/// Objects from which a rest of a key path is yet to be followed.
private struct PrefetchFront {
    var objects: [ObjectReference]
    var rest: ArraySlice<Substring>

    /// What the first hop leads to: the objects that are known, and the lists that have to be asked for.
    func hop(
        in context: ManagedObjectContext
    ) -> (reached: [ObjectReference], lists: [(owner: ObjectReference, slot: Int)]) {
        var reached: [ObjectReference] = []
        var lists: [(owner: ObjectReference, slot: Int)] = []
        for record in objects.map(context.record) where !record.isDeleted {
            guard let name = rest.first, let slot = record.entity.slot(of: String(name)) else {
                continue
            }
            if !record.entity.properties[slot].isToMany {
                reached += record.value(slot)?.reference.map { [$0] } ?? []
            } else if let members = context.members(of: record, slot) {
                reached += members
            } else {
                lists.append((record.reference, slot))
            }
        }
        return (reached, lists)
    }
}
