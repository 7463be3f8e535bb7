public import FoundationEssentials
public import TandemModel
public import TandemQuery

/// Fetching results that are too large to be held at once.
extension ManagedObjectContext {
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

    /// Returns the ids of a request's objects in batches, in order, without reading their rows.
    public func idBatches(
        for request: FetchRequest, size: Int = 4_096, at position: Position? = nil
    ) -> FetchBatches<ObjectID> {
        batches(request, size, position, [], loadsRows: false) { $0.id($1) }
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
}
