import TandemModel
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
        try blocking { try await fetchObjects(request, keyPaths, includesPendingChanges, $0) }
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
            try await fetchObjects(request, keyPaths, includesPendingChanges, $0)
        }
    }

    /// Returns the ids of the objects that a request selects, in its order; blocks.
    ///
    /// Cost: 16 bytes for each id and no rows, or that of a fetch if pending edits have to be
    /// considered.
    public func fetchIDs(
        _ request: FetchRequest, includesPendingChanges: Bool = true
    ) throws -> [ObjectID] {
        try blocking { try await ids(request, includesPendingChanges, $0) }
    }

    /// Returns the ids of the objects that a request selects, in its order.
    public func fetchIDs(
        _ request: FetchRequest, includesPendingChanges: Bool = true
    ) async throws -> [ObjectID] {
        try await cancellable { try await ids(request, includesPendingChanges, $0) }
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

    /// Returns the number of objects that a request selects, subject to its offset and limit;
    /// blocks.
    ///
    /// Costs as much as a fetch only if pending edits have to be considered and depend on objects
    /// that are not loaded.
    public func count(
        for request: FetchRequest, includesPendingChanges: Bool = true
    ) throws -> Int {
        try blocking { try await count(request, includesPendingChanges, $0) }
    }

    /// Returns the number of objects that a request selects, subject to its offset and limit.
    public func count(
        for request: FetchRequest, includesPendingChanges: Bool = true
    ) async throws -> Int {
        try await cancellable { try await count(request, includesPendingChanges, $0) }
    }

    // MARK: Operations

    /// Returns the raw answer to a fetch at the context's position; controllers also open with it.
    ///
    /// If `adopts` is true, the context takes over the rows of the answer.
    func fetched(
        _ request: FetchRequest, kind: Fetch.Kind = .rows, related: [[String]] = [],
        interests: [EntityTag] = [], columns: FetchColumns? = nil, adopts: Bool = true,
        into parts: ChunkReader? = nil, _ calls: DaemonCalls
    ) async throws -> FetchAnswer {
        if let parent {
            sweep()
            _ = try await connectedSession(calls)
            return try await parent.fetched(
                request, kind: kind, related: related, interests: interests, columns: columns,
                calls)
        }
        try request.checkRange()
        return try await traced(.fetch, { request.traceFields($0, kind) }) {
            let session = try await connectedSession(calls)
            let entity = try session.entity(of: request)
            let family = request.includesSubentities ? entity.descendants : [entity.tag]
            let isFollowed = kind != .count && kind != .columns
            let wanted = !isFollowed ? [] : Set(family + interests + [entity.tag]).sorted()
            let fetch = Fetch(
                request: request, kind: kind, related: related, interests: wanted, at: 0,
                columns: columns)
            let answer: FetchAnswer = try await read(.fetch(fetch), into: parts, calls) {
                if case .fetched(let answer) = $0 { answer } else { nil }
            }
            if adopts { try adopt(answer) }
            return answer
        }
    }

    private func adopt(_ answer: FetchAnswer) throws {
        try check(answer.references)
        for object in answer.related { try adopt(object) }
        for object in answer.objects { try adopt(object) }
        dropDoubtfulEdits()
    }

    private func fetchObjects(
        _ request: FetchRequest, _ keyPaths: [String], _ includesPending: Bool,
        _ calls: DaemonCalls
    ) async throws -> [ManagedObject] {
        let found = try await fetchObjects(
            request, includesPending: includesPending, calls)
        if !keyPaths.isEmpty {
            try await load(found.map(\.record.reference), prefetching: keyPaths, calls)
        }
        return found
    }

    private func ids(
        _ request: FetchRequest, _ includesPending: Bool, _ calls: DaemonCalls
    ) async throws -> [ObjectID] {
        let before = try await connectedSession(calls)
        if includesPending, try editsAbove(request, before.model) != nil {
            return try await fetchObjects(request, calls).map(\.id)
        }
        let answer = try await fetched(request, kind: .references, calls)
        let model = (session ?? before).model
        return answer.references.map { model.id(of: $0) }
    }

    private func fetchObjects(
        _ request: FetchRequest, includesPending: Bool = true, attempt: Int = 1,
        _ calls: DaemonCalls
    ) async throws -> [ManagedObject] {
        let model = try await connectedSession(calls).model
        guard includesPending, let overlay = try editsAbove(request, model),
            request.limit ?? 0 >= 0, request.offset >= 0
        else { return objects(of: try await fetched(request, calls).objects) }
        let answer = try await fetched(
            overlay.wideRequest, related: overlay.relatedPaths, interests: overlay.interests,
            calls)
        return try await applyEdits(request, answer, attempt, calls)
    }

    /// Returns what a request selects: rows if this is a root context without relevant edits,
    /// otherwise objects.
    ///
    /// In a blocking call with a chunk reader, the rows of a chunked answer are not included: the
    /// caller takes them from the reader.
    func picked(
        _ request: FetchRequest, into parts: ChunkReader? = nil, _ calls: DaemonCalls
    ) async throws -> Picked {
        guard parent == nil else { return .objects(try await fetchObjects(request, calls)) }
        let before = try await connectedSession(calls)
        guard try editsAbove(request, before.model) == nil else {
            return .objects(try await fetchObjects(request, calls))
        }
        let answer = try await fetched(request, adopts: false, into: parts, calls)
        guard let model = session?.model else { return .objects([]) }
        return .rows(
            RowsAnswer(
                self, answer.objects, model,
                repositionCount: familyState.repositionCount,
                count: Int(clamping: answer.count)))
    }

    /// The selection of a fetch.
    enum Picked {
        case objects([ManagedObject])
        case rows(RowsAnswer)
    }

    /// Applies the edits to an answer, after loading the objects that this depends on.
    private func applyEdits(
        _ request: FetchRequest, _ answer: FetchAnswer, _ attempt: Int, _ calls: DaemonCalls
    ) async throws -> [ManagedObject] {
        // The merge up to the answer may have changed the edits, and even the model.
        guard let session, let overlay = try editsAbove(request, session.model) else {
            return try await fetchObjects(request, attempt: attempt + 1, calls)
        }
        let lacking = overlay.lacking
        guard lacking.isEmpty else {
            try checkAttempt(attempt)
            try await load(lacking, calls)
            if merged == answer.position {
                return try await applyEdits(request, answer, attempt + 1, calls)
            }
            return try await fetchObjects(request, attempt: attempt + 1, calls)
        }
        let found = overlay.applied(to: answer.objects.map { record($0.object) })
        return found.map { object(of: $0) }
    }

    /// Returns the edits that a fetch has to consider, or nil if there are none.
    private func editsAbove(
        _ request: FetchRequest, _ model: CompiledModel
    ) throws(TandemError) -> PendingOverlay? {
        guard hasEdits else { return nil }
        let overlay = try PendingOverlay(request, self, model)
        return overlay.isEmpty ? nil : overlay
    }

    private func count(
        _ request: FetchRequest, _ includesPending: Bool, _ calls: DaemonCalls
    ) async throws -> Int {
        let answer = try await fetched(request, kind: .count, calls)
        let stored = Int(clamping: answer.count)
        guard includesPending, let session,
            let overlay = try editsAbove(request, session.model)
        else { return request.clipped(stored) }
        guard let change = overlay.countChange else {
            return try await fetchObjects(request, calls).count
        }
        return request.clipped(stored + change)
    }
}

extension ServerState {
    /// Returns the entity of a request; throws `unknownEntity` if the model does not have it.
    func entity(of request: FetchRequest) throws(TandemError) -> CompiledEntity {
        if let entity = model.entity(named: request.entity) { return entity }
        throw model.unknownEntity(request.entity)
    }
}

extension FetchRequest {
    /// Throws `usage` if the limit or the offset is negative.
    func checkRange() throws(TandemError) {
        guard limit ?? 0 >= 0, offset >= 0 else {
            throw TandemError(.usage, "limit and offset of a fetch must not be negative")
        }
    }

    /// Returns the number of objects that offset and limit leave of a number of matches.
    fileprivate func clipped(_ count: Int) -> Int { min(limit ?? .max, max(0, count - offset)) }

    /// Creates a request from the arguments of a typed fetch.
    ///
    /// Throws if the predicate or a sort key can't be parsed.
    @usableFromInline
    init(
        _ entity: String, _ format: String?, _ arguments: [PredicateArgument], _ sort: [String],
        _ limit: Int?
    ) throws {
        let keys = try sort.map { text in
            guard let key = SortKey(text) else {
                throw TandemError(.usage, "`\(text)` is not a sort key; give \(SortKey.form)")
            }
            return key
        }
        let predicate = try format.map {
            try ObjectPredicate(format: $0, arguments: arguments)
        }
        self.init(entity: entity, predicate: predicate, sort: keys, limit: limit)
    }
}
