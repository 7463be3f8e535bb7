import TandemModel
public import TandemQuery
import TandemWire

extension ManagedObjectContext {
    /// The objects that a request picks, in its order, with pending edits taken into account; blocks.
    ///
    /// Throws `unknownEntity`, `unknownProperty`, `invalidPredicate`, `disconnected`, `limitExceeded`.
    public func fetch(_ request: FetchRequest) throws -> [ManagedObject] {
        try fetchStep(request).run(on: connection)
    }

    /// The objects that a request picks, in its order, with pending edits taken into account.
    public nonisolated(nonsending) func fetch(
        _ request: FetchRequest
    ) async throws -> [ManagedObject] {
        try await fetchStep(request).runAsync(on: connection)
    }

    /// The objects of a class that match, in order; blocks.
    ///
    ///     let teams = try context.fetch(Team.self, where: "wins > 3", sort: ["-wins"])
    public func fetch<Object: ManagedEntity>(
        _ type: Object.Type, where format: String? = nil, _ arguments: [PredicateArgument] = [],
        sort: [String] = [], limit: Int? = nil
    ) throws -> [Object] {
        core.register(type)
        let request = try FetchRequest(type.entity.name, format, arguments, sort, limit)
        return try fetch(request).compactMap { $0 as? Object }
    }

    /// The objects of a class that match, in order.
    public nonisolated(nonsending) func fetch<Object: ManagedEntity>(
        _ type: Object.Type, where format: String? = nil, _ arguments: [PredicateArgument] = [],
        sort: [String] = [], limit: Int? = nil
    ) async throws -> [Object] {
        core.register(type)
        let request = try FetchRequest(type.entity.name, format, arguments, sort, limit)
        return try await fetch(request).compactMap { $0 as? Object }
    }

    /// How many objects a request picks in the store; pending edits don't count.
    ///
    /// Blocks.
    public func count(for request: FetchRequest) throws -> Int {
        try countStep(request).run(on: connection)
    }

    /// How many objects a request picks in the store; pending edits don't count.
    public nonisolated(nonsending) func count(for request: FetchRequest) async throws -> Int {
        try await countStep(request).runAsync(on: connection)
    }

    // MARK: Steps

    /// The raw answer to a fetch, adopted at the context's position; controllers open with it too.
    func fetchedStep(
        _ request: FetchRequest, kind: Fetch.Kind = .rows, related: [[String]] = [],
        interests: [EntityTag] = []
    ) throws -> Step<Fetched> {
        guard request.limit ?? 0 >= 0, request.offset >= 0 else {
            throw TandemError(.usage, "limit and offset of a fetch can't be negative")
        }
        return try sessionStep().then { session in
            guard let entity = session.model.entity(named: request.entity) else {
                throw TandemError(
                    .unknownEntity,
                    "no entity is named \(request.entity); `tandem schema` shows the model")
            }
            let family = request.includesSubentities ? entity.descendants : [entity.tag]
            let wanted = kind == .count ? [] : Set(family + interests + [entity.tag]).sorted()
            let fetch = Fetch(
                request: request, kind: kind, related: related, interests: wanted, at: 0)
            return try self.positionedStep(.fetch(fetch)) { message -> (Fetched, UInt64)? in
                guard case .fetched(let answer) = message else { return nil }
                return (answer, answer.position)
            } use: { answer in
                try self.adopt(answer)
                return answer
            }
        }
    }

    private func adopt(_ answer: Fetched) throws {
        try check(answer.references)
        if answer.position == merged {
            for object in answer.related { try adopt(object) }
            for object in answer.objects { try adopt(object) }
        } else {
            try check((answer.related + answer.objects).map(\.object))
        }
    }

    private func fetchStep(_ request: FetchRequest) throws -> Step<[ManagedObject]> {
        try fetchedStep(request).then { answer in
            guard let session = self.session else { return .done([]) }
            let found = answer.objects.map { self.record($0.object) }
            let overlay = try PendingOverlay(request, self, session.model)
            return .done(overlay.applied(to: found).map { self.object(of: $0) })
        }
    }

    private func countStep(_ request: FetchRequest) throws -> Step<Int> {
        try fetchedStep(request, kind: .count).then { .done(Int(clamping: $0.count)) }
    }
}

extension FetchRequest {
    fileprivate init(
        _ entity: String, _ format: String?, _ arguments: [PredicateArgument], _ sort: [String],
        _ limit: Int?
    ) throws {
        let keys = try sort.map { text in
            guard let key = SortKey(text) else {
                throw TandemError(.usage, "a sort key needs a name, not \"\(text)\"")
            }
            return key
        }
        let predicate = try format.map {
            try ObjectPredicate(format: $0, arguments: arguments)
        }
        self.init(entity: entity, predicate: predicate, sort: keys, limit: limit)
    }
}

/// Lays a context's pending edits over the answer to a fetch, as Core Data does.
struct PendingOverlay {
    private let request: CompiledRequest?
    private let context: ManagedObjectContext
    private let edited: [ObjectRecord]

    init(
        _ request: FetchRequest, _ context: ManagedObjectContext, _ model: CompiledModel
    ) throws(TandemError) {
        self.context = context
        let edits = context.records.values.filter(\.hasEdits)
        guard !edits.isEmpty else {
            self.request = nil
            edited = []
            return
        }
        let compiled = try CompiledRequest(request, in: model)
        self.request = compiled
        edited = edits.filter { compiled.includes(tag: $0.reference.tag) }
    }

    /// The records that match with all edits; what can't be judged here stays as the store has it.
    func applied(to found: [ObjectRecord]) -> [ObjectRecord] {
        guard let request, !edited.isEmpty else { return found }
        let reader = ContextReader(context: context, includesEdits: true)
        let numbers = Set(found.map(\.reference.number))
        let changed = Set(edited.map(\.reference.number))
        var result = found.filter { !changed.contains($0.reference.number) }
        for record in edited where !record.isDeleted {
            let wasFound = numbers.contains(record.reference.number)
            let row = record.currentRow(modelVersion: request.model.version)
            let matches = row.flatMap { request.matches(record.reference, $0, reader) }
            if matches ?? wasFound { result.append(record) }
        }
        let limit = request.request.limit ?? .max
        return Array(sorted(result, request, reader).prefix(limit))
    }

    private func sorted(
        _ records: [ObjectRecord], _ request: CompiledRequest, _ reader: ContextReader
    ) -> [ObjectRecord] {
        let keyed = records.map { record -> (key: [UInt8], record: ObjectRecord) in
            let row = record.currentRow(modelVersion: request.model.version)
            let key = row.flatMap { request.sortKey(record.reference, $0, reader) }
            return (key ?? [], record)
        }
        return keyed.sorted { a, b in
            if a.key != b.key { return a.key.lexicographicallyPrecedes(b.key) }
            return a.record.reference.number < b.record.reference.number
        }.map(\.record)
    }
}
