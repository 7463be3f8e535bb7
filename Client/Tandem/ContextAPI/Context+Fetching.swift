public import FoundationEssentials
public import TandemModel
public import TandemQuery
import TandemWire

extension ManagedObjectContext {
    /// Returns the objects that a request selects, in its order; blocks.
    /// - Parameters:
    ///   - request: The request.
    ///   - keyPaths: Relationships whose objects are loaded as well, with one request for each step
    ///     of the longest path (``load(_:prefetching:)``).
    ///   - includesPendingChanges: Whether pending edits affect the selection and the order. The
    ///     objects show their pending edits in any case, including deletions.
    /// - Returns: The objects, loaded.
    /// - Throws: `unknownEntity`, `unknownProperty`, `invalidPredicate`, `disconnected`,
    ///   `limitExceeded`.
    public func fetch(
        _ request: FetchRequest, prefetching keyPaths: [String] = [],
        includesPendingChanges: Bool = true
    ) throws -> [ManagedObject] {
        try blocking {
            try await fetches.fetchObjects(request, keyPaths, includesPendingChanges, $0)
        }
    }

    /// Returns the objects that a request selects, in its order.
    ///
    /// Throws `CancellationError` if the task is cancelled; the daemon then stops executing the
    /// request. All other async fetches and counts behave alike.
    public func fetch(
        _ request: FetchRequest, prefetching keyPaths: [String] = [],
        includesPendingChanges: Bool = true
    ) async throws -> [ManagedObject] {
        try await cancellable {
            try await fetches.fetchObjects(request, keyPaths, includesPendingChanges, $0)
        }
    }

    /// Returns the objects of a class that match, in order; blocks.
    ///
    ///     let teams = try context.fetch(Team.self, where: "wins > 3", sort: ["-wins"])
    public func fetch<Object: ManagedEntity>(
        _ type: Object.Type, where format: String? = nil, _ arguments: [PredicateArgument] = [],
        sort: [String] = [], limit: Int? = nil
    ) throws -> [Object] {
        core.learn(type)
        let request = try FetchRequest(type.entity.name, format, arguments, sort, limit)
        return try fetch(request).shown(as: type)
    }

    /// Returns the objects of a class that match, in order.
    public func fetch<Object: ManagedEntity>(
        _ type: Object.Type, where format: String? = nil, _ arguments: [PredicateArgument] = [],
        sort: [String] = [], limit: Int? = nil
    ) async throws -> [Object] {
        core.learn(type)
        let request = try FetchRequest(type.entity.name, format, arguments, sort, limit)
        return try await fetch(request).shown(as: type)
    }

    /// Returns the ids of the objects that a request selects, in its order; blocks.
    ///
    /// Cost: 16 bytes for each id and no rows, or that of a fetch if pending edits have to be
    /// considered.
    public func fetchIDs(
        _ request: FetchRequest, includesPendingChanges: Bool = true
    ) throws -> [ObjectID] {
        try blocking { try await fetches.ids(request, includesPendingChanges, $0) }
    }

    /// Returns the ids of the objects that a request selects, in its order.
    public func fetchIDs(
        _ request: FetchRequest, includesPendingChanges: Bool = true
    ) async throws -> [ObjectID] {
        try await cancellable { try await fetches.ids(request, includesPendingChanges, $0) }
    }

    /// Returns the number of objects that a request selects, subject to its offset and limit;
    /// blocks.
    ///
    /// Costs as much as a fetch only if pending edits have to be considered and depend on objects
    /// that are not loaded.
    public func count(
        for request: FetchRequest, includesPendingChanges: Bool = true
    ) throws -> Int {
        try blocking { try await fetches.count(request, includesPendingChanges, $0) }
    }

    /// Returns the number of objects that a request selects, subject to its offset and limit.
    public func count(
        for request: FetchRequest, includesPendingChanges: Bool = true
    ) async throws -> Int {
        try await cancellable { try await fetches.count(request, includesPendingChanges, $0) }
    }

    /// Returns the objects of a class that match a typed predicate, in order; blocks.
    ///
    ///     let teams = try context.fetch(Team.self, where: \.wins > 3, sort: ["-wins"])
    public func fetch<Object: ManagedEntity>(
        _ type: Object.Type, where predicate: TypedPredicate<Object>, sort: [SortKey] = [],
        limit: Int? = nil
    ) throws -> [Object] {
        core.learn(type)
        let request = try FetchRequest(type, where: predicate, sort: sort, limit: limit)
        return try fetch(request).shown(as: type)
    }

    /// Returns the objects of a class that match a typed predicate, in order.
    public func fetch<Object: ManagedEntity>(
        _ type: Object.Type, where predicate: TypedPredicate<Object>, sort: [SortKey] = [],
        limit: Int? = nil
    ) async throws -> [Object] {
        core.learn(type)
        let request = try FetchRequest(type, where: predicate, sort: sort, limit: limit)
        return try await fetch(request).shown(as: type)
    }

    /// Returns the objects of a class that match a Foundation predicate, in order; blocks.
    ///
    ///     let teams = try context.fetch(
    ///         Team.self, where: #Predicate { $0.wins > 3 }, sort: ["-wins"])
    public func fetch<Object: ManagedEntity>(
        _ type: Object.Type, where predicate: Predicate<Object>, sort: [SortKey] = [],
        limit: Int? = nil
    ) throws -> [Object] {
        core.learn(type)
        let request = try FetchRequest(type, where: predicate, sort: sort, limit: limit)
        return try fetch(request).shown(as: type)
    }

    /// Returns the objects of a class that match a Foundation predicate, in order.
    public func fetch<Object: ManagedEntity>(
        _ type: Object.Type, where predicate: Predicate<Object>, sort: [SortKey] = [],
        limit: Int? = nil
    ) async throws -> [Object] {
        core.learn(type)
        let request = try FetchRequest(type, where: predicate, sort: sort, limit: limit)
        return try await fetch(request).shown(as: type)
    }

    // MARK: Earlier positions

    /// Returns what a request selected at a position, in its order, as values; blocks.
    ///
    ///     let request = FetchRequest(entity: "Team", sort: ["-wins"])
    ///     let earlier = try context.fetch(request, at: position)
    ///
    /// A context that has not reached the position first merges up to it, unless it is pinned
    /// (``pin(at:)``). The context's objects and pending edits are ignored. Cost: the daemon undoes
    /// everything that was saved since.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - position: The position.
    ///   - members: The to-many relationships whose members are included.
    /// - Returns: The objects as they were.
    /// - Throws: The errors of other fetches, and:
    ///   - `historyExpired` if the journal does not reach back to the position or the model was
    ///     different; the message names the oldest readable position.
    ///   - `limitExceeded` if more was saved since than the daemon undoes.
    ///   - `timeout` for a position after the journal's end.
    public func fetch(
        _ request: FetchRequest, at position: Position, members: [String] = []
    ) throws -> [ObjectSnapshot] {
        try blocking { try await pastReads.fetchPast(request, at: position, members, $0) }
    }

    /// Returns what a request selected at a position, in its order, as values.
    public func fetch(
        _ request: FetchRequest, at position: Position, members: [String] = []
    ) async throws -> [ObjectSnapshot] {
        try await cancellable { try await pastReads.fetchPast(request, at: position, members, $0) }
    }

    /// Returns the number of objects that a request selected at a position; blocks.
    public func count(for request: FetchRequest, at position: Position) throws -> Int {
        try blocking {
            Int(clamping: try await pastReads.past(request, .count, at: position, $0).0.count)
        }
    }

    /// Returns the number of objects that a request selected at a position.
    public func count(
        for request: FetchRequest, at position: Position
    ) async throws -> Int {
        try await cancellable {
            Int(clamping: try await pastReads.past(request, .count, at: position, $0).0.count)
        }
    }

    // MARK: Batches

    /// Returns the objects of a request in batches, in order and all at one position.
    ///
    /// See ``FetchBatches``.
    ///
    ///     for try await batch in context.batches(for: FetchRequest(entity: "Team")) { … }
    ///
    /// Pending edits are ignored. The daemon sorts all objects once per `limits.listedReferences`
    /// ids, and finds each batch by its ids. For each batch it undoes everything saved since the
    /// loop began.
    /// - Parameters:
    ///   - request: The fetch request.
    ///   - size: The number of objects per batch; at least one.
    ///   - position: The position to read at; nil for the context's pin, or else the end of the
    ///     journal.
    ///   - keyPaths: Relationships to prefetch with each batch (``load(_:prefetching:)``).
    /// - Returns: The batches; no request is sent before the first one is needed.
    public func batches(
        for request: FetchRequest, size: Int = 256, at position: Position? = nil,
        prefetching keyPaths: [String] = []
    ) -> FetchBatches<ManagedObject> {
        batches(request, size, position, keyPaths, loadsRows: true) { $0.object($1) }
    }

    /// Returns the matching objects of a class in batches, in order and all at one position.
    ///
    /// Throws `invalidPredicate` and `usage` if the predicate or a sort key can't be parsed.
    public func batches<Object: ManagedEntity>(
        of type: Object.Type, where format: String? = nil, _ arguments: [PredicateArgument] = [],
        sort: [String] = [], limit: Int? = nil, size: Int = 256, at position: Position? = nil,
        prefetching keyPaths: [String] = []
    ) throws -> FetchBatches<Object> {
        let request = try FetchRequest(type.entity.name, format, arguments, sort, limit)
        return batches(of: type, request, size, position, keyPaths)
    }

    /// Returns the objects of a class that match a typed predicate in batches.
    ///
    /// The batches are in order and all at one position. Throws `usage` for a key path that names
    /// no property.
    ///
    ///     for try await teams in try context.batches(of: Team.self, where: \.wins > 3) { … }
    public func batches<Object: ManagedEntity>(
        of type: Object.Type, where predicate: TypedPredicate<Object>, sort: [SortKey] = [],
        limit: Int? = nil, size: Int = 256, at position: Position? = nil,
        prefetching keyPaths: [String] = []
    ) throws -> FetchBatches<Object> {
        let request = try FetchRequest(type, where: predicate, sort: sort, limit: limit)
        return batches(of: type, request, size, position, keyPaths)
    }

    /// Returns the objects of a class that match a Foundation predicate in batches.
    ///
    /// The batches are in order and all at one position. Throws the errors of
    /// ``TandemQuery/ObjectPredicate/init(_:)``.
    ///
    ///     let batches = try context.batches(of: Team.self, where: #Predicate { $0.wins > 3 })
    ///     for try await teams in batches { … }
    public func batches<Object: ManagedEntity>(
        of type: Object.Type, where predicate: Predicate<Object>, sort: [SortKey] = [],
        limit: Int? = nil, size: Int = 256, at position: Position? = nil,
        prefetching keyPaths: [String] = []
    ) throws -> FetchBatches<Object> {
        let request = try FetchRequest(type, where: predicate, sort: sort, limit: limit)
        return batches(of: type, request, size, position, keyPaths)
    }

    private func batches<Object: ManagedEntity>(
        of type: Object.Type, _ request: FetchRequest, _ size: Int, _ position: Position?,
        _ keyPaths: [String]
    ) -> FetchBatches<Object> {
        core.learn(type)
        return batches(request, size, position, keyPaths, loadsRows: true) {
            $0.object($1) as? Object
        }
    }

    private func batches<Value>(
        _ request: FetchRequest, _ size: Int, _ position: Position?, _ keyPaths: [String],
        loadsRows: Bool,
        _ value: @escaping (BatchReader, ObjectReference) -> Value?
    ) -> FetchBatches<Value> {
        let plan = BatchReader.Plan(
            request: request, size: size, position: position, loadsRows: loadsRows,
            keyPaths: keyPaths)
        return FetchBatches(makeReader: { BatchReader(plan, of: self) }, value: value)
    }

    /// Returns the ids of a request's objects in batches, in order, without reading their rows.
    public func idBatches(
        for request: FetchRequest, size: Int = 4_096, at position: Position? = nil
    ) -> FetchBatches<ObjectID> {
        batches(request, size, position, [], loadsRows: false) { $0.id($1) }
    }
}
