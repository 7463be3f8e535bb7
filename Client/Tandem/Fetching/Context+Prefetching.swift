import TandemModel

/// Loading along key paths, so that later reads need no requests.
extension ManagedObjectContext {
    /// Loads objects and the objects that key paths reach from them; blocks.
    ///
    ///     try context.load(teams, prefetching: ["league", "players.club"])
    ///
    /// Sends one request for each step of the longest path, regardless of the number of objects and
    /// paths. A request loads rows of related objects, and members with their rows. Data that is
    /// already loaded is not requested. Without prefetching, each step of each object is a request
    /// when it is first read. Loaded data that is not in use may be removed again
    /// (`limits.cachedRows`). Throws `unknownProperty` for a key path that contains anything but
    /// relationships, and the errors of reads.
    public func load(
        _ objects: some Sequence<ManagedObject>, prefetching keyPaths: [String]
    ) throws {
        try blocking {
            try await load(objects.map(\.record.reference), prefetching: keyPaths, $0)
        }
    }

    /// Loads objects and the objects that key paths reach from them.
    public func load(
        _ objects: [ManagedObject], prefetching keyPaths: [String]
    ) async throws {
        try await cancellable {
            try await load(objects.map(\.record.reference), prefetching: keyPaths, $0)
        }
    }

    // MARK: Operations

    func load(
        _ objects: [ObjectReference], prefetching keyPaths: [String], _ calls: DaemonCalls
    ) async throws {
        let model = try await connectedSession(calls).model
        for tag in Set(objects.map(\.tag)) {
            for path in keyPaths { try Self.check(prefetched: path, tag, model) }
        }
        try await load(objects, calls)
        var frontiers = keyPaths.map { path in
            PrefetchFrontier(objects: objects, rest: path.split(separator: ".")[...])
        }
        while true {
            frontiers.removeAll { $0.rest.isEmpty || $0.objects.isEmpty }
            if frontiers.isEmpty { return }
            frontiers = try await followHop(of: frontiers, calls)
        }
    }

    /// Loads the objects that the first hop of every frontier reaches; returns the next frontiers.
    private func followHop(
        of frontiers: [PrefetchFrontier], _ calls: DaemonCalls
    ) async throws -> [PrefetchFrontier] {
        let hops = frontiers.map { $0.hop(in: self) }
        try await load(
            Set(hops.flatMap(\.reached)).sorted(), members: hops.flatMap(\.lists),
            withRows: true, calls)
        return zip(frontiers, hops).map { front, hop in
            let members = hop.lists.flatMap { list in
                self.members(of: record(list.owner), list.slot) ?? []
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

/// Objects whose remaining key path is still to be loaded.
private struct PrefetchFrontier {
    var objects: [ObjectReference]
    var rest: ArraySlice<Substring>

    /// Returns the objects that the first hop reaches, and the member lists that have to be
    /// requested.
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
