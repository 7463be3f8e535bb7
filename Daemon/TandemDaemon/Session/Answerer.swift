import TandemModel
import TandemQuery
import TandemStore
import TandemWire

/// Answers reads at the durable position, from the open write transaction, between batches.
struct Answerer {
    let committer: Committer
    let session: Session
    let engine: Engine

    func answer(_ message: ClientMessage) throws -> DaemonMessage {
        switch message {
        case .read(let request): .objects(try read(request))
        case .verdicts(let request): .verdicts(try verdicts(request))
        case .history(let request): .history(try history(request))
        case .status: .status(engine.status.text)
        case .blob(let blob): .blob(try content(of: blob))
        case .hello, .save, .sync, .schema, .disconnect, .lease, .consumer, .pin, .fetch,
            .batch, .insert:
            preconditionFailure("The engine answers these itself.")
        }
    }

    var limits: DaemonLimits { committer.limits }

    var model: CompiledModel {
        get throws(TandemError) {
            guard let model = committer.store.model else {
                throw TandemError(.unknownEntity, "the store has no model yet; apply one first")
            }
            return model
        }
    }

    // MARK: Reads

    /// Begins with what is carried out in steps; nil for what is answered at once.
    func begin(_ message: ClientMessage, _ id: UInt32) throws -> ReadUnderWay? {
        switch message {
        case .fetch(let fetch):
            try engine.check(fetch.lease, at: fetch.at, session)
            return try begin(message, fetch, at: fetch.at, id)
        case .read(let read) where read.at != 0:
            try engine.check(read.lease, at: read.at, session)
            return try begin(message, nil, at: read.at, id)
        case .verdicts(let request):
            guard case .fetch(let fetch) = request.alongside else { return nil }
            try check(request)
            return try begin(message, fetch, at: 0, id)
        default: return nil
        }
    }

    private func begin(
        _ message: ClientMessage, _ fetch: Fetch?, at position: UInt64, _ id: UInt32
    ) throws -> ReadUnderWay {
        let model = try model
        if position != 0 { try check(readingAt: position) }
        return try Answerer.telling {
            try ReadUnderWay(
                message, fetch, at: position, id: id, in: model, committer,
                bytes: session.askedBytes)
        }
    }

    /// Throws if nobody can tell what there was at a position.
    func check(readingAt position: UInt64) throws {
        let (end, bounds) = (committer.position, committer.journal.bounds)
        guard position <= end else {
            throw TandemError(
                .historyExpired, "position \(position) is beyond the journal's end, \(end)")
        }
        let oldest = max(bounds.first - 1, committer.store.modelPosition)
        guard position >= oldest else {
            throw TandemError(
                .historyExpired,
                "what there was at position \(position) can't be told any more; the oldest that can be "
                    + "read at is \(oldest)")
        }
        try committer.checkLookBack(to: position)
    }

    /// Answers what is done.
    func answer(_ read: ReadUnderWay) throws -> DaemonMessage {
        let result = try Answerer.telling { try read.cursor?.result() }
        switch read.message {
        case .read(let request): return .objects(try self.read(request, read.past))
        case .verdicts(let request):
            var answer = try verdicts(request)
            answer.alongside = try result.flatMap { result in
                try read.fetch.map { .fetched(try self.answer($0, result, nil)) }
            }
            return .verdicts(answer)
        default:
            guard let fetch = read.fetch, let result else {
                preconditionFailure("Nothing else goes on in steps.")
            }
            return .fetched(try answer(fetch, result, read.past))
        }
    }

    /// Does something with the store, and lets who asks hear of what is no end of the daemon.
    static func telling<Result>(_ body: () throws -> Result) throws -> Result {
        do {
            return try body()
        } catch let error as StoreError {
            switch error.code {
            case .tooMuch: throw TandemError(.limitExceeded, error.message)
            // Who asks is told, and nobody else's work ends.
            case .damaged:
                throw TandemError(
                    .storage, "\(error.message); stop the daemon and run `tandem check --repair`")
            default: throw error
            }
        }
    }

    private func answer(
        _ fetch: Fetch, _ result: FetchResult, _ past: PastGraph?
    ) throws -> Fetched {
        let model = try model
        engine.follow(fetch.interests, session)
        var answer = Fetched(
            position: past?.position ?? committer.position, count: UInt64(result.count),
            objects: [],
            references: [], related: [])
        switch fetch.kind {
        case .count: break
        case .references: answer.references = result.references
        case .rows:
            answer.objects = result.objects.map(StoredObject.init)
            var related = RelatedRows(committer.store, model, past, AnswerSize(committer))
            for object in result.objects {
                for path in fetch.related { try related.follow(path, from: object.row) }
            }
            answer.related = related.objects
        }
        return answer
    }

    private func read(_ read: Read, _ past: PastGraph? = nil) throws -> Objects {
        let model = try model
        if !read.members.isEmpty {
            try model.check(slotsOf: read.modelVersion, "the read", "read again")
        }
        var answer = Objects(
            position: past?.position ?? committer.position, objects: [], missing: [], members: [])
        let size = AnswerSize(committer)
        for object in read.objects {
            let stored = try committer.store.stored(object, past)
            try size.add(stored?.row)
            if let stored {
                answer.objects.append(StoredObject(stored))
            } else {
                answer.missing.append(object)
            }
        }
        for request in read.members {
            guard let entity = model.entity(tagged: request.owner.tag),
                request.slot < entity.properties.count,
                let relationship = entity.properties[request.slot].relationship, relationship.toMany
            else {
                throw TandemError(
                    .unknownProperty,
                    "\(model.id(of: request.owner)) has no to-many relationship "
                        + "\(request.slot)")
            }
            let now = try committer.store.members(of: request.owner.number, relationship)
            let members = past?.members(now, of: request.owner, slot: request.slot) ?? now
            try size.add(references: 1 + members.count)
            answer.members.append(
                MemberList(owner: request.owner, slot: request.slot, members: members))
        }
        engine.follow(read.interests, session)
        return answer
    }

    private func content(of blob: BlobReference) throws -> [UInt8] {
        if let content = try committer.store.content(of: blob) { return content }
        throw TandemError(
            .unknownObject,
            "the content \(blob) is no longer in the store: no object has it and the journal no "
                + "longer reaches back to when one had; refresh the object")
    }

    // MARK: The journal

    private func check(_ request: VerdictRequest) throws {
        guard request.items.count <= limits.controllers else {
            throw committer.limitCounts.refusal(
                .controllers, limits, "\(request.items.count) controllers ask at once")
        }
        let isPast =
            switch request.alongside {
            case .fetch(let fetch): fetch.at != 0
            case .read(let read): read.at != 0
            case nil: false
            }
        guard !isPast else {
            throw TandemError(.usage, "what is read beside verdicts is read at their position")
        }
    }

    /// The verdicts, and the objects that are asked for beside them.
    private func verdicts(_ request: VerdictRequest) throws -> Verdicts {
        try check(request)
        let model = try model
        let way = try way(of: request, model)
        let size = AnswerSize(committer)
        var related = RelatedRows(committer.store, model, way.end, size)
        var answer = Verdicts(
            position: way.end?.position ?? committer.position, items: [], related: [])
        // One for all: a question of many lists takes no longer than one of one may.
        let budget = engine.verdictReads.map { ReadBudget($0) } ?? ReadBudget()
        for (index, item) in request.items.enumerated() {
            let compiled = try CompiledRequest(
                item.request, sectionKeyPath: item.sectionKeyPath,
                refreshKeyPaths: item.refreshKeyPaths, in: model)
            let evaluator = VerdictEvaluator(
                compiled, way.window, committer.store, budget, from: way.start, to: way.end)
            let verdicts = try together(index) {
                let verdicts = try evaluator.verdicts(size)
                for verdict in verdicts where verdict.matches {
                    guard let row = verdict.row else { continue }
                    for path in compiled.paths { try related.follow(path.hops[...], from: row) }
                }
                return verdicts
            }
            answer.items.append(verdicts)
        }
        answer.related = related.objects
        if case .read(let request) = request.alongside {
            answer.alongside = .objects(try read(request))
        }
        return answer
    }

    /// Judges a list beside others; where they are too much together, they are fetched, each for itself and in steps.
    private func together<Result>(_ index: Int, _ body: () throws -> Result) throws -> Result {
        do {
            return try body()
        } catch let error as TandemError {
            guard index > 0, error.code == .limitExceeded else { throw error }
            throw TandemError(
                .historyExpired,
                "the lists depend on too much to be judged together; fetch again")
        }
    }

    /// What lies between where a client is and where it goes, with the graphs there unless it goes to the end.
    private func way(
        of request: VerdictRequest, _ model: CompiledModel
    ) throws -> (window: TransactionWindow, start: PastGraph?, end: PastGraph?) {
        let (from, to) = (request.from, request.at)
        guard to != 0 else { return (try window(after: from, model), nil, nil) }
        guard request.alongside == nil else {
            throw TandemError(.usage, "beside verdicts at an earlier position nothing is read")
        }
        try check(readingAt: min(from, to))
        try check(readingAt: max(from, to))
        let start = PastGraph(at: from, try window(after: from, model))
        let end = PastGraph(at: to, try window(after: to, model))
        let between = try TransactionWindow(
            committer, after: min(from, to), through: max(from, to), model,
            atMost: DaemonLimits.windowBytes)
        return (between, start, end)
    }

    private func window(
        after from: UInt64, _ model: CompiledModel
    ) throws -> TransactionWindow {
        guard from >= committer.store.modelPosition, from <= committer.position else {
            throw TandemError(.historyExpired, "position \(from) is of another model; fetch again")
        }
        guard committer.position - from <= UInt64(limits.verdictTransactions) else {
            throw committer.limitCounts.refusal(
                .verdictTransactions, limits,
                "\(committer.position - from) transactions are too many to judge at once, fetch "
                    + "again", code: .historyExpired)
        }
        return try TransactionWindow(
            committer, after: from, model, atMost: DaemonLimits.windowBytes)
    }
}

extension StoredObject {
    init(_ stored: Store.Stored) {
        self.init(object: stored.object, version: stored.version, row: stored.row)
    }
}

extension Committer {
    /// Throws `limitExceeded` where more happened since a position than a read there may undo.
    func checkLookBack(to position: UInt64) throws(TandemError) {
        let count = self.position - position
        guard count <= UInt64(limits.lookBackTransactions) else {
            throw limitCounts.refusal(
                .lookBackTransactions, limits,
                "\(count) transactions are too many to undo; read at a newer position")
        }
    }

    /// The model in binary form, or nil in a store without one.
    var modelBytes: [UInt8]? {
        store.model.map { model in
            var writer = ByteWriter()
            model.encode(into: &writer)
            return writer.bytes
        }
    }
}
