public import TandemModel
import TandemQuery
import TandemWire

extension ManagedObjectContext {
    /// Returns the objects that a request selects, in the requested order; blocks.
    ///
    ///     let strong = FetchRequest(where: \Team.wins > 3, sort: [.descending(\.wins)])
    ///     let teams = try context.fetch(strong, prefetching: ["players"])
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - keyPaths: Relationships whose targets are loaded as well, with one request for each step
    ///     of the longest path (``load(_:prefetching:)``).
    ///   - includesPendingChanges: Whether pending edits affect the selection and the order. The
    ///     objects show their pending edits in any case, including deletions.
    /// - Returns: The loaded objects. Objects that the context created with another class, before
    ///   this class was registered, are left out.
    /// - Throws: `unknownEntity`, `unknownProperty`, `invalidPredicate`, `usage` for a key path
    ///   that names no property, `disconnected`, `limitExceeded`.
    public func fetch<Object: ManagedObject>(
        _ request: FetchRequest<Object>, prefetching keyPaths: [String] = [],
        includesPendingChanges: Bool = true
    ) throws -> [Object] {
        let descriptor = try registered(request)
        return try blocking {
            try await fetches.fetchObjects(descriptor, keyPaths, includesPendingChanges, $0)
        }.shown(as: Object.self)
    }

    /// Returns the objects that a request selects, in the requested order.
    ///
    /// Throws `CancellationError` if the task is cancelled; the daemon then stops executing the
    /// request. This also applies to all other async fetches and counts.
    public func fetch<Object: ManagedObject>(
        _ request: FetchRequest<Object>, prefetching keyPaths: [String] = [],
        includesPendingChanges: Bool = true
    ) async throws -> [Object] {
        let descriptor = try registered(request)
        return try await cancellable {
            try await fetches.fetchObjects(descriptor, keyPaths, includesPendingChanges, $0)
        }.shown(as: Object.self)
    }

    /// Returns the objects of a class, or those that match a condition on key paths, in order;
    /// blocks.
    ///
    ///     let teams = try context.fetch(Team.self, sort: [.descending(\.wins)])
    ///     let strong = try context.fetch(Team.self, where: \.wins > 3 && \.zone == "Africa")
    public func fetch<Object: ManagedEntity>(
        _ type: Object.Type, where condition: TypedPredicate<Object>? = nil,
        sort: [SortKey<Object>] = [], limit: Int? = nil
    ) throws -> [Object] {
        try fetch(FetchRequest(type, where: condition, sort: sort, limit: limit))
    }

    /// Returns the objects of a class, or those that match a condition on key paths, in order.
    public func fetch<Object: ManagedEntity>(
        _ type: Object.Type, where condition: TypedPredicate<Object>? = nil,
        sort: [SortKey<Object>] = [], limit: Int? = nil
    ) async throws -> [Object] {
        try await fetch(FetchRequest(type, where: condition, sort: sort, limit: limit))
    }

    /// Returns the objects of a class that match a condition in any form (``PredicateSource``), in
    /// order; blocks.
    ///
    ///     let teams = try context.fetch(Team.self, where: #Predicate { $0.wins > 3 })
    public func fetch<Object: ManagedEntity, Condition: PredicateSource>(
        _ type: Object.Type, where condition: Condition, sort: [SortKey<Object>] = [],
        limit: Int? = nil
    ) throws -> [Object] where Condition.Evaluation == (Object) throws -> Bool {
        try fetch(FetchRequest(type, where: condition, sort: sort, limit: limit))
    }

    /// Returns the objects of a class that match a condition in any form (``PredicateSource``), in
    /// order.
    public func fetch<Object: ManagedEntity, Condition: PredicateSource>(
        _ type: Object.Type, where condition: Condition, sort: [SortKey<Object>] = [],
        limit: Int? = nil
    ) async throws -> [Object] where Condition.Evaluation == (Object) throws -> Bool {
        try await fetch(FetchRequest(type, where: condition, sort: sort, limit: limit))
    }

    /// Returns the ids of the objects that a request selects, in the requested order; blocks.
    ///
    /// Cost: 16 bytes for each id and no rows, or the cost of a fetch if pending edits have to be
    /// considered.
    public func fetchIDs<Object: ManagedObject>(
        _ request: FetchRequest<Object>, includesPendingChanges: Bool = true
    ) throws -> [ObjectID] {
        let descriptor = try request.descriptor
        return try blocking { try await fetches.ids(descriptor, includesPendingChanges, $0) }
    }

    /// Returns the ids of the objects that a request selects, in the requested order.
    public func fetchIDs<Object: ManagedObject>(
        _ request: FetchRequest<Object>, includesPendingChanges: Bool = true
    ) async throws -> [ObjectID] {
        let descriptor = try request.descriptor
        return try await cancellable {
            try await fetches.ids(descriptor, includesPendingChanges, $0)
        }
    }

    /// Returns the number of objects that a request selects, subject to its offset and limit;
    /// blocks.
    ///
    /// Costs as much as a fetch only if pending edits have to be considered and depend on objects
    /// that are not loaded. At an earlier `position`, the context's objects and pending edits are
    /// ignored, and the errors are the same as for ``fetch(_:at:members:)``.
    public func count<Object: ManagedObject>(
        for request: FetchRequest<Object>, includesPendingChanges: Bool = true,
        at position: Position? = nil
    ) throws -> Int {
        let descriptor = try request.descriptor
        return try blocking {
            try await fetches.count(descriptor, includesPendingChanges, at: position, $0)
        }
    }

    /// Returns the number of objects that a request selects, subject to its offset and limit.
    public func count<Object: ManagedObject>(
        for request: FetchRequest<Object>, includesPendingChanges: Bool = true,
        at position: Position? = nil
    ) async throws -> Int {
        let descriptor = try request.descriptor
        return try await cancellable {
            try await fetches.count(descriptor, includesPendingChanges, at: position, $0)
        }
    }

    /// Registers the class of a request, and returns the request that is sent to the daemon.
    private func registered<Object: ManagedObject>(
        _ request: FetchRequest<Object>
    ) throws(TandemError) -> FetchDescriptor {
        if let type = request.objectClass { core.registerIfNeeded(type) }
        return try request.descriptor
    }

    // MARK: Earlier positions

    /// Returns, as values, the objects that a request selects at an earlier position; blocks.
    ///
    ///     let request = FetchRequest(entity: "Team", sort: ["-wins"])
    ///     let earlier = try context.fetch(request, at: position)
    ///
    /// A context that has not reached the position first merges up to it, unless it is pinned
    /// (``pin(at:)``). The context's objects and pending edits are ignored. Cost: the daemon undoes
    /// everything that was saved since then.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - position: The position.
    ///   - members: The to-many relationships whose members are included.
    /// - Returns: The objects at that position, in the order of the request.
    /// - Throws: The errors of other fetches, and:
    ///   - `historyExpired` if the journal does not reach back to the position or the model was
    ///     different; the message names the oldest readable position.
    ///   - `limitExceeded` if more was saved since then than the daemon can undo.
    ///   - `timeout` for a position after the journal's end.
    public func fetch<Object: ManagedObject>(
        _ request: FetchRequest<Object>, at position: Position, members: [String] = []
    ) throws -> [ObjectSnapshot] {
        let descriptor = try request.descriptor
        return try blocking {
            try await pastReads.fetchPast(descriptor, at: position, members, $0)
        }
    }

    /// Returns, as values, the objects that a request selects at an earlier position.
    public func fetch<Object: ManagedObject>(
        _ request: FetchRequest<Object>, at position: Position, members: [String] = []
    ) async throws -> [ObjectSnapshot] {
        let descriptor = try request.descriptor
        return try await cancellable {
            try await pastReads.fetchPast(descriptor, at: position, members, $0)
        }
    }

    // MARK: Batches

    /// Returns the objects that a request selects, in batches, in order and all at one position.
    ///
    /// See ``FetchBatches``.
    ///
    ///     for try await teams in context.batches(for: FetchRequest(where: \Team.wins > 3)) { … }
    ///
    /// Pending edits are ignored. The daemon sorts all objects once per 262,144 ids,
    /// and finds each batch by its ids. For each batch, it undoes everything that was saved since
    /// the loop began.
    /// - Parameters:
    ///   - request: The request. If it can't be translated, the loop throws the error.
    ///   - size: The number of objects per batch; at least one.
    ///   - position: The position to read at; nil for the context's pin, or else the end of the
    ///     journal.
    ///   - keyPaths: Relationships to prefetch with each batch (``load(_:prefetching:)``).
    /// - Returns: The batches; no request is sent before the first one is needed.
    public func batches<Object: ManagedObject>(
        for request: FetchRequest<Object>, size: Int = 256, at position: Position? = nil,
        prefetching keyPaths: [String] = []
    ) -> FetchBatches<Object> {
        if let type = request.objectClass { core.registerIfNeeded(type) }
        return batches(request.untyped, size, position, keyPaths, loadsRows: true) {
            $0.object($1) as? Object
        }
    }

    /// Returns the ids of the objects that a request selects, in batches and in order; reads no
    /// rows.
    public func idBatches<Object: ManagedObject>(
        for request: FetchRequest<Object>, size: Int = 4_096, at position: Position? = nil
    ) -> FetchBatches<ObjectID> {
        batches(request.untyped, size, position, [], loadsRows: false) { $0.id($1) }
    }

    private func batches<Value>(
        _ request: FetchRequest<ManagedObject>, _ size: Int, _ position: Position?,
        _ keyPaths: [String], loadsRows: Bool,
        _ value: @escaping (BatchReader, ObjectReference) -> Value?
    ) -> FetchBatches<Value> {
        let plan = BatchReader.Plan(
            request: request, size: size, position: position, loadsRows: loadsRows,
            keyPaths: keyPaths)
        return FetchBatches(makeReader: { BatchReader(plan, for: self) }, value: value)
    }
}
