import TandemModel
import TandemQuery
import TandemWire

/// Fetches objects, ids, counts and columns at a context's position.
struct FetchOperations: ContextPart {
    let context: ManagedObjectContext

    /// Returns the raw answer to a fetch at the context's position; also used to open controllers.
    ///
    /// If `adopts` is true, the context adopts the rows of the answer.
    func fetched(
        _ request: FetchDescriptor, kind: Fetch.Kind = .rows, related: [[String]] = [],
        interests: [EntityTag] = [], columns: FetchColumns? = nil, adopts: Bool = true,
        into chunks: ChunkReader? = nil, _ calls: DaemonCalls
    ) async throws -> FetchAnswer {
        if let parent {
            graph.sweep()
            _ = try await connectedSession(calls)
            return try await parent.fetches.fetched(
                request, kind: kind, related: related, interests: interests, columns: columns,
                calls)
        }
        try request.checkRange()
        return try await logged(.fetch, { request.loggedFields($0, kind) }) {
            let session = try await connectedSession(calls)
            let entity = try core.entity(named: request.entity, in: session.model)
            let family = request.includesSubentities ? entity.descendants : [entity.tag]
            let isFollowed = kind != .count && kind != .columns
            let wanted = !isFollowed ? [] : Set(family + interests + [entity.tag]).sorted()
            let fetch = Fetch(
                request: request, kind: kind, related: related, interests: wanted, at: 0,
                columns: columns)
            let answer: FetchAnswer = try await reads.read(.fetch(fetch), into: chunks, calls) {
                if case .fetched(let answer) = $0 { answer } else { nil }
            }
            if adopts { try adopt(answer) }
            return answer
        }
    }

    private func adopt(_ answer: FetchAnswer) throws {
        try graph.check(answer.references)
        for object in answer.related { try graph.adopt(object) }
        for object in answer.objects { try graph.adopt(object) }
        failures.dropDoubtfulEdits()
    }

    /// Returns the objects that match a request, after prefetching the objects that key paths reach
    /// from them.
    func fetchObjects(
        _ request: FetchDescriptor, _ keyPaths: [String], _ includesPending: Bool,
        _ calls: DaemonCalls
    ) async throws -> [ManagedObject] {
        let found = try await fetchObjects(
            request, includesPending: includesPending, calls)
        if !keyPaths.isEmpty {
            try await prefetcher.load(found.map(\.record.reference), prefetching: keyPaths, calls)
        }
        return found
    }

    /// Returns the ids of the objects that match a request.
    func ids(
        _ request: FetchDescriptor, _ includesPending: Bool, _ calls: DaemonCalls
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
        _ request: FetchDescriptor, includesPending: Bool = true, attempt: Int = 1,
        _ calls: DaemonCalls
    ) async throws -> [ManagedObject] {
        let model = try await connectedSession(calls).model
        guard includesPending, let overlay = try editsAbove(request, model),
            request.limit ?? 0 >= 0, request.offset >= 0
        else { return graph.objects(of: try await fetched(request, calls).objects) }
        let answer = try await fetched(
            overlay.wideRequest, related: overlay.relatedPaths, interests: overlay.interests,
            calls)
        return try await applyEdits(request, answer, attempt, calls)
    }

    /// Returns the selection of a request: rows if this is a root context without relevant edits,
    /// otherwise objects.
    ///
    /// In a blocking call with a chunk reader, the rows of a chunked answer are not included: the
    /// caller gets them from the reader.
    func selection(
        _ request: FetchDescriptor, into chunks: ChunkReader? = nil, _ calls: DaemonCalls
    ) async throws -> FetchSelection {
        guard parent == nil else { return .objects(try await fetchObjects(request, calls)) }
        let before = try await connectedSession(calls)
        guard try editsAbove(request, before.model) == nil else {
            return .objects(try await fetchObjects(request, calls))
        }
        let answer = try await fetched(request, adopts: false, into: chunks, calls)
        guard let model = session?.model else { return .objects([]) }
        return .rows(
            RowsAnswer(context, answer.objects, model, count: Int(clamping: answer.count)))
    }

    /// Applies the edits to an answer, after loading the objects needed to place edited objects.
    private func applyEdits(
        _ request: FetchDescriptor, _ answer: FetchAnswer, _ attempt: Int, _ calls: DaemonCalls
    ) async throws -> [ManagedObject] {
        // The merge up to the answer may have changed the edits, and even the model.
        guard let session, let overlay = try editsAbove(request, session.model) else {
            return try await fetchObjects(request, attempt: attempt + 1, calls)
        }
        switch overlay.applied(to: answer.objects.map { graph.record($0.object) }) {
        case .objects(let found): return found.map { graph.object(of: $0) }
        case .lacking(let objects):
            try reads.checkAttempt(attempt)
            try await loader.load(objects, calls)
            if merged == answer.position {
                return try await applyEdits(request, answer, attempt + 1, calls)
            }
            return try await fetchObjects(request, attempt: attempt + 1, calls)
        }
    }

    /// Returns the edits that a fetch has to consider, or nil if there are none.
    private func editsAbove(
        _ request: FetchDescriptor, _ model: CompiledModel
    ) throws(TandemError) -> FetchOverlay? {
        guard editor.hasEdits else { return nil }
        let overlay = try FetchOverlay(request, context, model)
        return overlay.isEmpty ? nil : overlay
    }

    /// Returns the number of objects that match a request, at an earlier position or now.
    func count(
        _ request: FetchDescriptor, _ includesPending: Bool, at position: Position?,
        _ calls: DaemonCalls
    ) async throws -> Int {
        if let position {
            let (answer, _) = try await pastReads.past(request, .count, at: position, calls)
            return Int(clamping: answer.count)
        }
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

    // MARK: Columns

    /// Returns values or aggregates by column name, at an earlier position or now.
    func values(
        _ request: FetchDescriptor, _ columns: FetchColumns, at position: Position?,
        _ calls: DaemonCalls
    ) async throws -> [[String: PropertyValue]] {
        try columns.check()
        if let position {
            let (answer, _) = try await pastReads.past(
                request, .columns, at: position, columns: columns, calls)
            return try columns.named(answer.values)
        }
        let answer = try await fetched(request, kind: .columns, columns: columns, calls)
        return try columns.named(answer.values)
    }
}

extension ContextPart {
    var fetches: FetchOperations { FetchOperations(context: context) }
}

extension FetchDescriptor {
    /// Throws `usage` if the limit or the offset is negative.
    func checkRange() throws(TandemError) {
        guard limit ?? 0 >= 0, offset >= 0 else {
            throw TandemError(.usage, "limit and offset of a fetch must not be negative")
        }
    }

    /// Returns the number of objects that offset and limit select among `count` matches.
    func clipped(_ count: Int) -> Int { min(limit ?? .max, max(0, count - offset)) }
}
