public import FoundationEssentials
public import TandemModel
public import TandemQuery

/// Fetching what is too much to be held at once.
extension ManagedObjectContext {
    /// The objects that a request picks, in its order, some at a time and all as they are at one position; see ``FetchBatches``.
    ///
    ///     for try await batch in context.batches(for: FetchRequest(entity: "Team")) { … }
    ///
    /// Pending edits have no part in it. The daemon puts all in order once for every `limits.listedReferences` ids, and finds each batch by
    /// its ids; it undoes for each what was saved since the loop began.
    /// - Parameters:
    ///   - request: What is wanted.
    ///   - size: How many objects a batch has; at least one.
    ///   - position: When; nil for where the context is pinned, or else for the end of the journal.
    ///   - keyPaths: Relationships whose objects are loaded with each batch (``load(_:prefetching:)``).
    /// - Returns: The batches; nothing is asked before the first is wanted.
    public func batches(
        for request: FetchRequest, size: Int = 256, at position: Position? = nil,
        prefetching keyPaths: [String] = []
    ) -> FetchBatches<ManagedObject> {
        batches(request, size, position, keyPaths, loadsRows: true) { $0.object($1) }
    }

    /// The objects of a class that match, in order, some at a time and all as they are at one position.
    ///
    /// Throws `invalidPredicate` and `usage` for a predicate or a sort key that can't be read.
    public func batches<Object: ManagedEntity>(
        of type: Object.Type, where format: String? = nil, _ arguments: [PredicateArgument] = [],
        sort: [String] = [], limit: Int? = nil, size: Int = 256, at position: Position? = nil,
        prefetching keyPaths: [String] = []
    ) throws -> FetchBatches<Object> {
        let request = try FetchRequest(type.entity.name, format, arguments, sort, limit)
        return batches(of: type, request, size, position, keyPaths)
    }

    /// The objects of a class that match a typed predicate, in order, some at a time and all as they are at one position.
    ///
    /// Throws `usage` for a key path that names no property.
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

    /// The objects of a class that match a predicate of Swift's, in order, some at a time and all as they are at one position.
    ///
    /// Throws what ``TandemQuery/ObjectPredicate/init(_:)`` does.
    ///
    ///     for try await teams in try context.batches(of: Team.self, where: #Predicate { $0.wins > 3 }) { … }
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

    /// The ids of the objects that a request picks, in its order, some at a time; no rows are read for them.
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
