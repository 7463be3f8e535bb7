import TandemModel
public import TandemQuery
import TandemWire

extension ManagedObjectContext {
    /// The objects that a request picks, in its order; blocks.
    ///
    /// - Parameters:
    ///   - request: What is wanted.
    ///   - keyPaths: Relationships whose objects are loaded as well: one request for each step of the longest path
    ///     (``load(_:prefetching:)``).
    ///   - includesPendingChanges: Whether pending edits are taken into account for what is picked and in what order. The objects
    ///     show theirs in any case, also those that are deleted here.
    /// - Returns: The objects, loaded.
    /// - Throws: `unknownEntity`, `unknownProperty`, `invalidPredicate`, `disconnected`, `limitExceeded`.
    public func fetch(
        _ request: FetchRequest, prefetching keyPaths: [String] = [],
        includesPendingChanges: Bool = true
    ) throws -> [ManagedObject] {
        if keyPaths.isEmpty, let found = try fetchAtOnce(request) { return found }
        return try fetchStep(request, keyPaths, includesPendingChanges).run(on: connection)
    }

    /// The objects that a request picks, in its order.
    ///
    /// Throws `CancellationError` when the task is cancelled meanwhile; the daemon stops working on it then. So do the other fetches
    /// and counts that are awaited.
    public nonisolated(nonsending) func fetch(
        _ request: FetchRequest, prefetching keyPaths: [String] = [],
        includesPendingChanges: Bool = true
    ) async throws -> [ManagedObject] {
        try await fetchStep(request, keyPaths, includesPendingChanges)
            .runUnlessCancelled(on: connection)
    }

    /// The ids of the objects that a request picks, in its order; blocks.
    ///
    /// Sixteen bytes for each, and no rows, unless pending edits have to be taken into account: then as much as a fetch.
    public func fetchIDs(
        _ request: FetchRequest, includesPendingChanges: Bool = true
    ) throws -> [ObjectID] {
        try idsStep(request, includesPendingChanges).run(on: connection)
    }

    /// The ids of the objects that a request picks, in its order.
    public nonisolated(nonsending) func fetchIDs(
        _ request: FetchRequest, includesPendingChanges: Bool = true
    ) async throws -> [ObjectID] {
        try await idsStep(request, includesPendingChanges).runUnlessCancelled(on: connection)
    }

    /// The objects of a class that match, in order; blocks.
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

    /// The objects of a class that match, in order.
    public nonisolated(nonsending) func fetch<Object: ManagedEntity>(
        _ type: Object.Type, where format: String? = nil, _ arguments: [PredicateArgument] = [],
        sort: [String] = [], limit: Int? = nil
    ) async throws -> [Object] {
        core.learn(type)
        let request = try FetchRequest(type.entity.name, format, arguments, sort, limit)
        return try await fetch(request).shown(as: type)
    }

    /// How many objects a request picks, with offset and limit taken into account; blocks.
    ///
    /// Costs as much as a fetch only where pending edits are to be taken into account and lead to objects that are not held.
    public func count(
        for request: FetchRequest, includesPendingChanges: Bool = true
    ) throws -> Int {
        try countStep(request, includesPendingChanges).run(on: connection)
    }

    /// How many objects a request picks, with offset and limit taken into account.
    public nonisolated(nonsending) func count(
        for request: FetchRequest, includesPendingChanges: Bool = true
    ) async throws -> Int {
        try await countStep(request, includesPendingChanges).runUnlessCancelled(on: connection)
    }

    // MARK: Steps

    /// The raw answer to a fetch, adopted at the context's position unless the caller takes its rows there; controllers open with it too.
    func fetchedStep(
        _ request: FetchRequest, kind: Fetch.Kind = .rows, related: [[String]] = [],
        interests: [EntityTag] = [], columns: FetchColumns? = nil, adopts: Bool = true,
        into parts: AnswerParts? = nil
    ) throws -> Step<Fetched> {
        if let parent {
            sweep()
            return try sessionStep().then { _ in
                try parent.fetchedStep(
                    request, kind: kind, related: related, interests: interests,
                    columns: columns)
            }
        }
        guard request.limit ?? 0 >= 0, request.offset >= 0 else {
            throw TandemError(.usage, "limit and offset of a fetch can't be negative")
        }
        guard let debug, debug.tells(.fetch) else {
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
        _ parts: AnswerParts?
    ) throws -> Step<Fetched> {
        try sessionStep().then { session in
            let entity = try session.entity(of: request)
            let family = request.includesSubentities ? entity.descendants : [entity.tag]
            let isFollowed = kind != .count && kind != .columns
            let wanted = !isFollowed ? [] : Set(family + interests + [entity.tag]).sorted()
            let fetch = Fetch(
                request: request, kind: kind, related: related, interests: wanted, at: 0,
                columns: columns)
            return try self.positionedStep(.fetch(fetch), into: parts) { part -> Fetched? in
                if case .fetched(let answer) = part { answer } else { nil }
            } use: { answer in
                if adopts { try self.adopt(answer) }
                return answer
            }
        }
    }

    private func adopt(_ answer: Fetched) throws {
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

    /// What a request picks, as rows where no edits lie above and this context holds rows itself; else as objects.
    ///
    /// Of rows that come in parts, where it blocks and there is who takes these, none: they are taken then.
    func pickedStep(
        _ request: FetchRequest, into parts: AnswerParts? = nil
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
                            objects: answer.objects, model: model, moves: self.standing.moves,
                            count: Int(clamping: answer.count))))
            }
        }
    }

    private func objectsStep(_ request: FetchRequest) throws -> Step<Picked> {
        try fetchStep(request).then { .done(.objects($0)) }
    }

    /// What a fetch picked.
    enum Picked {
        case objects([ManagedObject])
        case rows(RowsAnswer)
    }

    /// Lays the edits over an answer; what they lead to and is not held is loaded first.
    private func overlayStep(
        _ request: FetchRequest, _ answer: Fetched, _ attempt: Int
    ) throws -> Step<[ManagedObject]> {
        // Merging up to the answer may have changed edits, even the model.
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

    /// The edits that a fetch has to take into account; nil without any.
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

extension Session {
    /// The entity that a request names; throws for one that the model lacks.
    func entity(of request: FetchRequest) throws(TandemError) -> CompiledEntity {
        if let entity = model.entity(named: request.entity) { return entity }
        throw TandemError(
            .unknownEntity, "there is no entity `\(request.entity)`")
    }
}

extension FetchRequest {
    /// How many of the objects that match it picks.
    fileprivate func clipped(_ count: Int) -> Int { min(limit ?? .max, max(0, count - offset)) }

    /// A request in the words of typed fetches; throws for a predicate or a sort key that can't be read.
    @usableFromInline
    init(
        _ entity: String, _ format: String?, _ arguments: [PredicateArgument], _ sort: [String],
        _ limit: Int?
    ) throws {
        let keys = try sort.map { text in
            guard let key = SortKey(text) else {
                throw TandemError(.usage, "\"\(text)\" is no sort key; expected \(SortKey.form)")
            }
            return key
        }
        let predicate = try format.map {
            try ObjectPredicate(format: $0, arguments: arguments)
        }
        self.init(entity: entity, predicate: predicate, sort: keys, limit: limit)
    }
}
