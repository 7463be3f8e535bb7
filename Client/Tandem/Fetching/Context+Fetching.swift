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
        if keyPaths.isEmpty, let found = try fetchAtOnce(request) { return found }
        return try fetchStep(request, keyPaths, includesPendingChanges).run(on: connection)
    }

    /// Returns the objects that a request selects, in its order.
    ///
    /// Throws `CancellationError` if the task is cancelled; the daemon then stops executing the
    /// request. All other async fetches and counts behave alike.
    public nonisolated(nonsending) func fetch(
        _ request: FetchRequest, prefetching keyPaths: [String] = [],
        includesPendingChanges: Bool = true
    ) async throws -> [ManagedObject] {
        try await fetchStep(request, keyPaths, includesPendingChanges)
            .runUnlessCancelled(on: connection)
    }

    /// Returns the ids of the objects that a request selects, in its order; blocks.
    ///
    /// Cost: 16 bytes for each id and no rows, or that of a fetch if pending edits have to be
    /// considered.
    public func fetchIDs(
        _ request: FetchRequest, includesPendingChanges: Bool = true
    ) throws -> [ObjectID] {
        try idsStep(request, includesPendingChanges).run(on: connection)
    }

    /// Returns the ids of the objects that a request selects, in its order.
    public nonisolated(nonsending) func fetchIDs(
        _ request: FetchRequest, includesPendingChanges: Bool = true
    ) async throws -> [ObjectID] {
        try await idsStep(request, includesPendingChanges).runUnlessCancelled(on: connection)
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
    public nonisolated(nonsending) func fetch<Object: ManagedEntity>(
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
        try countStep(request, includesPendingChanges).run(on: connection)
    }

    /// Returns the number of objects that a request selects, subject to its offset and limit.
    public nonisolated(nonsending) func count(
        for request: FetchRequest, includesPendingChanges: Bool = true
    ) async throws -> Int {
        try await countStep(request, includesPendingChanges).runUnlessCancelled(on: connection)
    }

    // MARK: Steps

    /// Returns the raw answer to a fetch at the context's position; controllers also open with it.
    ///
    /// If `adopts` is true, the context takes over the rows of the answer.
    func fetchedStep(
        _ request: FetchRequest, kind: Fetch.Kind = .rows, related: [[String]] = [],
        interests: [EntityTag] = [], columns: FetchColumns? = nil, adopts: Bool = true,
        into parts: ChunkReader? = nil
    ) throws -> Step<FetchAnswer> {
        if let parent {
            sweep()
            return try sessionStep().then { _ in
                try parent.fetchedStep(
                    request, kind: kind, related: related, interests: interests,
                    columns: columns)
            }
        }
        guard request.limit ?? 0 >= 0, request.offset >= 0 else {
            throw TandemError(.usage, "limit and offset of a fetch must not be negative")
        }
        guard let debug, debug.traces(.fetch) else {
            return try askedStep(request, kind, related, interests, columns, adopts, parts)
        }
        return try told(.fetch, debug) {
            request.told($0, kind)
        } _: {
            try self.askedStep(request, kind, related, interests, columns, adopts, parts)
        }
    }

    private func askedStep(
        _ request: FetchRequest, _ kind: Fetch.Kind, _ related: [[String]],
        _ interests: [EntityTag], _ columns: FetchColumns?, _ adopts: Bool,
        _ parts: ChunkReader?
    ) throws -> Step<FetchAnswer> {
        try sessionStep().then { session in
            let entity = try session.entity(of: request)
            let family = request.includesSubentities ? entity.descendants : [entity.tag]
            let isFollowed = kind != .count && kind != .columns
            let wanted = !isFollowed ? [] : Set(family + interests + [entity.tag]).sorted()
            let fetch = Fetch(
                request: request, kind: kind, related: related, interests: wanted, at: 0,
                columns: columns)
            return try self.positionedStep(.fetch(fetch), into: parts) { part -> FetchAnswer? in
                if case .fetched(let answer) = part { answer } else { nil }
            } use: { answer in
                if adopts { try self.adopt(answer) }
                return answer
            }
        }
    }

    private func adopt(_ answer: FetchAnswer) throws {
        try check(answer.references)
        for object in answer.related { try adopt(object) }
        for object in answer.objects { try adopt(object) }
        dropDoubtfulEdits()
    }

    private func fetchStep(
        _ request: FetchRequest, _ keyPaths: [String], _ includesPending: Bool
    ) throws -> Step<[ManagedObject]> {
        try fetchStep(request, includesPending).then { found in
            guard !keyPaths.isEmpty else { return .done(found) }
            let references = found.map(\.record.reference)
            return try self.loadStep(references, prefetching: keyPaths).then { .done(found) }
        }
    }

    private func idsStep(
        _ request: FetchRequest, _ includesPending: Bool
    ) throws -> Step<[ObjectID]> {
        try sessionStep().then { session in
            let overlay = includesPending ? try self.editsAbove(request, session.model) : nil
            guard overlay == nil else {
                return try self.fetchStep(request).then { .done($0.map(\.id)) }
            }
            return try self.fetchedStep(request, kind: .references).then { answer in
                let model = (self.session ?? session).model
                return .done(answer.references.map { model.id(of: $0) })
            }
        }
    }

    private func fetchStep(
        _ request: FetchRequest, _ includesPending: Bool = true, attempt: Int = 1
    ) throws -> Step<[ManagedObject]> {
        try sessionStep().then { session in
            guard includesPending,
                let overlay = try self.editsAbove(request, session.model),
                request.limit ?? 0 >= 0, request.offset >= 0
            else {
                return try self.fetchedStep(request).then { answer in
                    .done(self.objects(of: answer.objects))
                }
            }
            return try self.fetchedStep(
                overlay.wideRequest, related: overlay.relatedPaths, interests: overlay.interests
            ).then { try self.overlayStep(request, $0, attempt) }
        }
    }

    /// Returns the selection of a request: rows if this is a root context without relevant edits,
    /// otherwise objects.
    ///
    /// In a blocking call with a chunk reader, the rows of a chunked answer are not included: the
    /// caller takes them from the reader.
    func pickedStep(
        _ request: FetchRequest, into parts: ChunkReader? = nil
    ) throws -> Step<Picked> {
        guard parent == nil else { return try objectsStep(request) }
        return try sessionStep().then { session in
            guard try self.editsAbove(request, session.model) == nil else {
                return try self.objectsStep(request)
            }
            return try self.fetchedStep(request, adopts: false, into: parts).then { answer in
                guard let model = self.session?.model else { return .done(.objects([])) }
                return .done(
                    .rows(
                        RowsAnswer(
                            objects: answer.objects, model: model,
                            repositionCount: self.familyState.repositionCount,
                            count: Int(clamping: answer.count))))
            }
        }
    }

    private func objectsStep(_ request: FetchRequest) throws -> Step<Picked> {
        try fetchStep(request).then { .done(.objects($0)) }
    }

    /// The selection of a fetch.
    enum Picked {
        case objects([ManagedObject])
        case rows(RowsAnswer)
    }

    /// Applies the edits to an answer, after loading the objects that this depends on.
    private func overlayStep(
        _ request: FetchRequest, _ answer: FetchAnswer, _ attempt: Int
    ) throws -> Step<[ManagedObject]> {
        // The merge up to the answer may have changed the edits, and even the model.
        guard let session, let overlay = try editsAbove(request, session.model) else {
            return try fetchStep(request, attempt: attempt + 1)
        }
        let lacking = overlay.lacking
        if !lacking.isEmpty {
            try checkAttempt(attempt)
            return try loadStep(lacking, members: []).then { _ in
                if self.merged == answer.position {
                    return try self.overlayStep(request, answer, attempt + 1)
                }
                return try self.fetchStep(request, attempt: attempt + 1)
            }
        }
        let found = overlay.applied(to: answer.objects.map { self.record($0.object) })
        return .done(found.map { self.object(of: $0) })
    }

    /// Returns the edits that a fetch has to consider, or nil if there are none.
    private func editsAbove(
        _ request: FetchRequest, _ model: CompiledModel
    ) throws(TandemError) -> PendingOverlay? {
        guard hasEdits else { return nil }
        let overlay = try PendingOverlay(request, self, model)
        return overlay.isEmpty ? nil : overlay
    }

    private func countStep(
        _ request: FetchRequest, _ includesPending: Bool
    ) throws -> Step<Int> {
        try fetchedStep(request, kind: .count).then { answer in
            let stored = Int(clamping: answer.count)
            guard includesPending, let session = self.session,
                let overlay = try self.editsAbove(request, session.model)
            else { return .done(request.clipped(stored)) }
            guard let change = overlay.countChange else {
                return try self.fetchStep(request).then { .done($0.count) }
            }
            return .done(request.clipped(stored + change))
        }
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
    /// Returns the number of selected objects for a number of matches.
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
