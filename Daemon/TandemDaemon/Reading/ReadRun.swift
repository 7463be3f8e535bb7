import TandemModel
import TandemQuery
import TandemStore
import TandemWire

/// The execution of a read request on one view of the store.
struct ReadRun {
    let view: StoreView
    var model: CompiledModel
    let limits: DaemonLimits
    let counts: LimitCounters
    /// The transactions between the positions of the request and the position of the view.
    var window: ReadWindow?
    /// The work after which the read ends with `interrupted`, because it is not a small read; nil
    /// for no bound.
    var smallReadWork: Int?
    /// The work of evaluating an object, relative to the comparison of one number.
    var weight = 1
    /// Throws if the read must end.
    var check: ReadBudget.Check?

    /// An answer; for a chunked list, its head.
    struct Answer {
        var message: DaemonMessage
        var list: ChunkedList?
    }

    /// The position of the answer.
    var position: UInt64 { past?.position ?? view.appliedPosition }

    /// The graph at an earlier position, if the request is for one; nil for the view's position.
    var past: HistoricalGraph? { window?.end }

    /// Returns a budget for one read.
    func budget() -> ReadBudget {
        view.readBudget(
            work: smallReadWork ?? .max, weight: weight, mostBytes: limits.readBytes, check: check)
    }

    /// Carries out a read request.
    ///
    /// Throws ``TandemError`` and ``StoreError``, and the errors of the check.
    func answer(_ read: CompiledRead) throws -> Answer {
        switch read {
        case .fetch(let fetch, let request):
            let (answer, list) = try fetched(fetch, request, inChunks: true)
            return Answer(message: .fetched(answer), list: list)
        case .explain(let fetch, let request):
            return Answer(message: .explained(try explained(fetch, request)))
        case .objects(let read):
            return Answer(message: .objects(try ObjectsRead(read, self).answer()))
        case .verdicts(let request): return Answer(message: .verdicts(try verdicts(request)))
        }
    }

    /// Returns references to the objects that a request finds.
    func references(_ request: CompiledRequest) throws -> [ObjectReference] {
        try view.fetch(request, for: .references, budget: budget()).references
    }

    /// Returns the objects that exist and match a request.
    func matches(
        _ request: CompiledRequest, among objects: [ObjectReference]
    ) throws -> [StoredObject] {
        let budget = budget()
        let reader = StoreReader(view, budget: budget)
        var (found, bytes) = ([StoredObject](), 0)
        for object in objects {
            guard let stored = try view.stored(object) else { continue }
            budget.beginObject()
            try budget.charge(1 + stored.row.bytes.count / 64, heldBytes: bytes)
            guard let matches = request.matches(object, stored.row, reader) else {
                throw unread(budget)
            }
            guard matches else { continue }
            found.append(stored)
            bytes += stored.row.bytes.count
        }
        return found
    }

    // MARK: Fetches

    private func find(
        _ fetch: Fetch, _ request: CompiledRequest, inChunks: Bool
    ) throws -> FetchResult {
        let part = try fetch.resultKind(of: request)
        guard smallReadWork != nil else {
            return try view.fetch(
                request, for: part, past: past, chunkBytes: inChunks ? limits.chunkBytes : nil,
                budget: budget())
        }
        guard past == nil, let found = try view.fetchLittle(request, for: part, budget: budget())
        else { throw StoreError(.interrupted, "the fetch reads more than a few objects") }
        return found
    }

    private func fetched(
        _ fetch: Fetch, _ request: CompiledRequest, inChunks: Bool
    ) throws -> (FetchAnswer, ChunkedList?) {
        let found = try find(fetch, request, inChunks: inChunks)
        return (try answer(fetch, found), found.list)
    }

    /// Returns the answer with the objects found; for a chunked list, its head.
    private func answer(_ fetch: Fetch, _ found: FetchResult) throws -> FetchAnswer {
        var answer = FetchAnswer(position: position, count: 0)
        var related = RelatedRows(self, budget())
        switch fetch.kind {
        case .count: answer.count = UInt64(found.count)
        case .columns: answer.values = try values(fetch, found.objects)
        case .references: answer.references = found.references
        case .list where found.places != nil:
            answer.places = found.places.map {
                $0.withLinks(upTo: Int(fetch.list?.rowsUpTo ?? 0))
            }
            for object in answer.places?.reached ?? [] { try related.read(object) }
        case .rows, .list:
            answer.objects = found.objects
            let paths = fetch.related.longest
            for object in paths.isEmpty ? [] : found.objects {
                for path in paths { try related.follow(path[...], from: object.row) }
            }
        }
        answer.related = related.objects
        // For any kind except a count, this is the number after applying offset and limit.
        if fetch.kind != .count { answer.count = UInt64(answer.bodyCount) }
        if let list = found.list { (answer.count, answer.hasMore) = (UInt64(list.count), true) }
        return answer
    }

    /// Returns the rows of column values, computed from the objects found.
    private func values(
        _ fetch: Fetch, _ objects: StoredObjects
    ) throws -> [[PropertyValue]] {
        guard let wanted = fetch.columns else { return [] }
        let columns = try CompiledColumns(wanted, of: fetch.request, in: model)
        let budget = budget()
        let reader = StoreReader(view, past: past, budget: budget)
        var fold = ColumnFold(columns)
        for stored in objects {
            budget.beginObject()
            try budget.charge(1, heldBytes: objects.byteCount + fold.bytes)
            guard let values = columns.values(stored.object, stored.row, reader) else {
                throw unread(budget)
            }
            let before = fold.bytes
            fold.add(values)
            try budget.collect(fold.bytes - before, reads: 0)
        }
        budget.beginObject()
        let held = objects.byteCount + fold.bytes
        let rows = try fold.rows(reader) { () throws(StoreError) in try budget.runCheck(held) }
        guard let rows else { throw unread(budget) }
        return rows
    }

    private func unread(_ budget: ReadBudget) -> StoreError {
        budget.interruption ?? budget.failure
            ?? StoreError(.damaged, "a row could not be read while its values were fetched")
    }

    /// Carries out a fetch, and returns its plan with the numbers of rows and keys read.
    private func explained(_ fetch: Fetch, _ request: CompiledRequest) throws -> ExplainAnswer {
        let found = try find(fetch, request, inChunks: false)
        var fetch = fetch
        fetch.related = []
        let answer = try answer(fetch, found)
        // A fetch whose answer is sent in chunks is passed to a reader, whatever the number of
        // objects.
        if smallReadWork != nil, AnswerChunker(answer).bytes > limits.chunkBytes {
            throw StoreError(.interrupted, "the answer is larger than one message")
        }
        return ExplainAnswer(
            position: position, steps: found.steps, rowsRead: UInt64(found.rowsRead),
            keysRead: UInt64(found.keysRead), returned: answer.count, output: fetch.output,
            atOnce: smallReadWork != nil)
    }

    // MARK: Verdicts

    /// Returns the verdicts on lists, and the answer to the piggybacked read.
    private func verdicts(_ request: VerdictRequest) throws -> Verdicts {
        guard let window else { preconditionFailure("Verdicts need a window.") }
        let lists = try request.items.map { item in
            try check?(0)
            return try CompiledRequest(
                item.request, sectionKeyPath: item.sectionKeyPath,
                refreshKeyPaths: item.refreshKeyPaths, in: model)
        }
        var run = VerdictRun(self, window)
        let items = try lists.map { try run.verdicts(on: $0) }
        var answer = Verdicts(position: position, items: items, related: run.related.objects)
        switch request.alongside {
        case .fetch(let fetch):
            let request = try fetch.compiled(in: model)
            answer.alongside = .fetched(try fetched(fetch, request, inChunks: false).0)
        case .read(let read): answer.alongside = .objects(try ObjectsRead(read, self).answer())
        case nil: break
        }
        return answer
    }
}

extension Fetch {
    /// The kind of answer, for `tandem explain`.
    fileprivate var output: FetchOutput {
        switch kind {
        case .rows: .rows
        case .list: .list
        case .count: .count
        case .references: .ids
        case .columns: columns?.isGrouped ?? false ? .groups : .columns
        }
    }
}

extension [[String]] {
    /// The distinct paths that are not a prefix of another path.
    fileprivate var longest: [[String]] {
        let sorted = Set(self).sorted { $0.lexicographicallyPrecedes($1) }
        return zip(sorted, sorted.dropFirst() + [[]]).compactMap { path, next in
            next.starts(with: path) && !path.isEmpty ? nil : path
        }
    }
}
