import TandemModel
import TandemQuery
import TandemStore
import TandemWire

/// Answers questions from one view of the store.
struct ReadRun {
    let view: StoreView
    let model: CompiledModel
    let limits: DaemonLimits
    let counts: LimitCounts
    /// What happened between the positions of the question and the view's.
    var window: ReadWindow?
    /// How many objects may be looked at before the read ends by `interrupted`; nil for as many as it takes.
    var littleWork: Int?
    /// How many times as much work each object is as one that is only compared.
    var weight = 1
    /// How many related objects verdicts may look at, if that is not what a request may.
    var verdictReads: Int?
    /// Throws what ends the read.
    var check: ReadBudget.Check?

    /// An answer; of a list in parts, what comes before its objects.
    struct Answer {
        var message: DaemonMessage
        var list: ListInParts?
    }

    /// The position that the answer is of.
    var position: UInt64 { past?.position ?? view.appliedPosition }

    /// The graph at an earlier position that is read; nil for the view's.
    var past: PastGraph? { window?.end }

    /// A budget of one read.
    func budget(ofRequest reads: Int? = nil) -> ReadBudget {
        view.readBudget(
            ofRequest: reads, work: littleWork ?? .max, weight: weight,
            check: check)
    }

    /// Carries out what a question asks for.
    ///
    /// Throws ``TandemError`` and ``StoreError``; what the check throws among them.
    func answer(_ question: ReadQuestion) throws -> Answer {
        switch question {
        case .fetch(let fetch, let request):
            let (answer, list) = try fetched(fetch, request, inParts: true)
            return Answer(message: .fetched(answer), list: list)
        case .explain(let fetch, let request):
            return Answer(message: .explained(try explained(fetch, request)))
        case .objects(let read):
            return Answer(message: .objects(try ObjectsRead(read, self).answer()))
        case .verdicts(let request): return Answer(message: .verdicts(try verdicts(request)))
        }
    }

    /// The objects that a request finds, and nothing else of them.
    func references(_ request: CompiledRequest) throws -> [ObjectReference] {
        try view.fetch(request, for: .references, budget: budget()).references
    }

    // MARK: Fetches

    private func find(
        _ fetch: Fetch, _ request: CompiledRequest, inParts: Bool
    ) throws -> FetchResult {
        let part = try fetch.part(of: request)
        guard littleWork != nil else {
            return try view.fetch(
                request, for: part, past: past, partBytes: inParts ? limits.partBytes : nil,
                budget: budget())
        }
        guard past == nil, let found = try view.fetchLittle(request, for: part, budget: budget())
        else { throw StoreError(.interrupted, "the fetch looks at more than a few objects") }
        return found
    }

    private func fetched(
        _ fetch: Fetch, _ request: CompiledRequest, inParts: Bool
    ) throws -> (Fetched, ListInParts?) {
        let found = try find(fetch, request, inParts: inParts)
        var answer = Fetched(position: position, count: 0)
        let size = AnswerSize(limits, counts)
        switch fetch.kind {
        case .count: answer.count = UInt64(found.count)
        case .columns: answer.values = try values(fetch, found.objects, size)
        case .references: answer.references = found.references
        case .list where found.places != nil:
            var related = RelatedRows(view, model, past, size, budget())
            answer.places = found.places.map {
                $0.withLinks(upTo: Int(fetch.list?.rowsUpTo ?? 0))
            }
            for object in answer.places?.reached ?? [] { try related.read(object) }
            answer.related = related.objects
        case .rows, .list:
            answer.objects = found.objects
            var related = RelatedRows(view, model, past, size, budget())
            let paths = fetch.related.longest
            for object in paths.isEmpty ? [] : found.objects {
                for path in paths { try related.follow(path[...], from: object.row) }
            }
            answer.related = related.objects
        }
        // Apart from a count it is of what the answer has: offset and limit have been taken into account.
        if fetch.kind != .count { answer.count = UInt64(answer.bodyCount) }
        if let list = found.list { (answer.count, answer.hasMore) = (UInt64(list.count), true) }
        return (answer, found.list)
    }

    /// The rows of values that are made of what was found.
    private func values(
        _ fetch: Fetch, _ objects: StoredObjects, _ size: AnswerSize
    ) throws -> [[Value]] {
        guard let wanted = fetch.columns else { return [] }
        let columns = try CompiledColumns(wanted, of: fetch.request, in: model)
        let budget = budget()
        let reader = PastReader(store: StoreReader(view, budget: budget), past: past)
        var fold = ColumnFold(columns)
        for stored in objects {
            budget.beginObject()
            try budget.take(1, heldBytes: objects.byteCount + fold.bytes)
            guard let values = columns.values(stored.object, stored.row, reader) else {
                throw unread(budget)
            }
            fold.add(values)
            try size.check(fold.bytes)
        }
        budget.beginObject()
        guard let rows = fold.rows(reader) else { throw unread(budget) }
        return rows
    }

    private func unread(_ budget: ReadBudget) -> StoreError {
        budget.refusal ?? budget.failure
            ?? StoreError(.damaged, "a row could not be read while its values were fetched")
    }

    /// How a fetch is carried out.
    private func explained(_ fetch: Fetch, _ request: CompiledRequest) throws -> Explained {
        let found = try find(fetch, request, inParts: false)
        return Explained(
            position: position, steps: found.steps, rowsRead: UInt64(found.rowsRead),
            keysRead: UInt64(found.keysRead),
            returned: UInt64(fetch.kind == .rows ? found.objects.count : found.count))
    }

    // MARK: Verdicts

    /// The verdicts on some lists, and what is read beside them.
    private func verdicts(_ request: VerdictRequest) throws -> Verdicts {
        guard let window else { preconditionFailure("Verdicts are about a window.") }
        let lists = try request.items.map { item throws(TandemError) in
            try CompiledRequest(
                item.request, sectionKeyPath: item.sectionKeyPath,
                refreshKeyPaths: item.refreshKeyPaths, in: model)
        }
        var run = VerdictRun(self, window)
        let items = try lists.map { try run.verdicts(on: $0) }
        var answer = Verdicts(position: position, items: items, related: run.related.objects)
        switch request.alongside {
        case .fetch(let fetch):
            let request = try fetch.compiled(in: model)
            answer.alongside = .fetched(try fetched(fetch, request, inParts: false).0)
        case .read(let read): answer.alongside = .objects(try ObjectsRead(read, self).answer())
        case nil: break
        }
        return answer
    }
}

extension [[String]] {
    /// Each once, without those that another begins with.
    fileprivate var longest: [[String]] {
        let sorted = Set(self).sorted { $0.lexicographicallyPrecedes($1) }
        return zip(sorted, sorted.dropFirst() + [[]]).compactMap { path, next in
            next.starts(with: path) && !path.isEmpty ? nil : path
        }
    }
}
