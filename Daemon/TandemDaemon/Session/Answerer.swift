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
        case .history(let request): .history(try history(request))
        case .status: .status(engine.status.text)
        case .blob(let blob): .blob(try content(of: blob))
        case .hello, .save, .sync, .schema, .disconnect, .lease, .consumer, .pin, .fetch,
            .verdicts, .batch, .insert, .explain, .vacuum, .cancel, .reload:
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
        case .fetch(let fetch), .explain(let fetch):
            try engine.check(sizeOf: fetch)
            try engine.check(fetch.lease, at: fetch.at, session)
            return try begin(message, fetch, at: fetch.at, id)
        case .read(let read) where read.at != 0 || read.isLong:
            try engine.check(read.lease, at: read.at, session)
            return try begin(message, nil, at: read.at, id)
        case .verdicts(let request):
            try check(request)
            return try begin(request, id)
        default: return nil
        }
    }

    private func begin(
        _ message: ClientMessage, _ fetch: Fetch?, at position: UInt64, _ id: UInt32
    ) throws -> ReadUnderWay {
        let model = try model
        if position != 0 { try check(readingAt: position) }
        return try committer.telling {
            try ReadUnderWay(
                message, fetch, at: position, id: id, in: model, committer,
                bytes: session.askedBytes)
        }
    }

    private func begin(_ request: VerdictRequest, _ id: UInt32) throws -> ReadUnderWay {
        let model = try model
        try check(wayOf: request)
        var fetch: Fetch?
        if case .fetch(let beside) = request.alongside { fetch = beside }
        return try committer.telling {
            let verdicts = try VerdictsUnderWay(
                request, in: model, committer, reads: engine.verdictReads)
            return try ReadUnderWay(
                .verdicts(request), fetch, at: 0, id: id, in: model, committer,
                bytes: session.askedBytes, verdicts: verdicts)
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
        let result = try committer.telling {
            read.columns == nil ? try read.cursor?.result() : nil
        }
        return try committer.telling { try answer(read, result) }
    }

    private func answer(_ read: ReadUnderWay, _ result: FetchResult?) throws -> DaemonMessage {
        switch read.message {
        case .read(let request):
            guard let objects = read.objects else {
                preconditionFailure("Objects are read before they are answered.")
            }
            let position = read.past?.position ?? committer.position
            return .objects(answer(request, objects, at: position))
        case .verdicts(let request):
            guard var answer = read.verdicts?.answer(committer) else {
                preconditionFailure("What is asked for was worked off.")
            }
            if case .read(let beside) = request.alongside {
                answer.alongside = .objects(try self.read(beside))
            }
            if let fetch = read.fetch {
                answer.alongside = .fetched(try self.answer(read, fetch, result))
            }
            return .verdicts(answer)
        case .explain:
            guard let result else { preconditionFailure("A fetch was carried out.") }
            return .explained(explained(result, read))
        default:
            guard let fetch = read.fetch else {
                preconditionFailure("Nothing else goes on in steps.")
            }
            return .fetched(try answer(read, fetch, result))
        }
    }

    /// Answers a fetch by its rows of values, or by what was found.
    private func answer(
        _ read: ReadUnderWay, _ fetch: Fetch, _ result: FetchResult?
    ) throws -> Fetched {
        if let columns = read.columns {
            engine.follow(fetch.interests, session)
            var answer = Fetched(
                position: read.past?.position ?? committer.position,
                count: UInt64(columns.rows.count), objects: [], references: [], related: [])
            answer.values = columns.rows
            return answer
        }
        guard let result else { preconditionFailure("A fetch was carried out.") }
        var answer = try answer(fetch, result, read.past)
        if let list = read.cursor?.list {
            (answer.count, answer.hasMore) = (UInt64(list.count), true)
        }
        return answer
    }

    /// How a fetch was carried out.
    private func explained(_ result: FetchResult, _ read: ReadUnderWay) -> Explained {
        Explained(
            position: read.past?.position ?? committer.position, steps: result.steps,
            rowsRead: UInt64(result.rowsRead), keysRead: UInt64(result.keysRead),
            returned: UInt64(read.fetch?.kind == .rows ? result.objects.count : result.count))
    }

    private func answer(
        _ fetch: Fetch, _ result: FetchResult, _ past: PastGraph?
    ) throws -> Fetched {
        let model = try model
        engine.follow(fetch.interests, session)
        var answer = Fetched(position: past?.position ?? committer.position, count: 0)
        switch fetch.kind {
        case .count, .columns: answer.count = UInt64(result.count)
        case .references: answer.references = result.references
        case .list where result.places != nil:
            var related = RelatedRows(committer.store, model, past, AnswerSize(committer))
            answer.places = result.places.map { $0.withLinks(upTo: Int(fetch.list?.rowsUpTo ?? 0)) }
            for object in answer.places?.reached ?? [] { try related.read(object) }
            answer.related = related.objects
        case .rows, .list:
            answer.objects = result.objects
            var related = RelatedRows(committer.store, model, past, AnswerSize(committer))
            let paths = fetch.related.longest
            for object in paths.isEmpty ? [] : result.objects {
                for path in paths { try related.follow(path[...], from: object.row) }
            }
            answer.related = related.objects
        }
        // Apart from a count it is of what the answer has: offset and limit have been taken into account.
        if fetch.kind != .count { answer.count = UInt64(answer.bodyCount) }
        return answer
    }

    /// Reads in one go.
    private func read(_ read: Read) throws -> Objects {
        var objects = try ObjectsUnderWay(read, in: try model, committer)
        var all = Int.max
        _ = try objects.step(committer, nil, &all)
        return answer(read, objects, at: committer.position)
    }

    private func answer(
        _ read: Read, _ objects: ObjectsUnderWay, at position: UInt64
    ) -> Objects {
        engine.follow(read.interests, session)
        var answer = objects.answer
        answer.position = position
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
        for item in request.items { try engine.check(sizeOf: item.request) }
        if case .fetch(let fetch) = request.alongside { try engine.check(sizeOf: fetch) }
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

    /// Throws `historyExpired` where what lies between a client and where it goes can't be told.
    private func check(wayOf request: VerdictRequest) throws {
        let (from, to) = (request.from, request.at)
        guard to != 0 else { return try check(changesAfter: from) }
        guard request.alongside == nil else {
            throw TandemError(.usage, "beside verdicts at an earlier position nothing is read")
        }
        for position in [min(from, to), max(from, to)] { try check(readingAt: position) }
        for position in [from, to] { try check(changesAfter: position) }
    }

    private func check(changesAfter from: UInt64) throws(TandemError) {
        guard from >= committer.store.modelPosition, from <= committer.position else {
            throw TandemError(.historyExpired, "position \(from) is of another model; fetch again")
        }
        guard committer.position - from <= UInt64(limits.verdictTransactions) else {
            throw committer.limitCounts.refusal(
                .verdictTransactions, limits,
                "\(committer.position - from) transactions are too many to judge at once, fetch "
                    + "again", code: .historyExpired)
        }
    }
}

extension Read {
    /// Whether it may take more than a moment, so that others go between: most are of a few objects.
    fileprivate var isLong: Bool { memberRows || objects.count + members.count > 64 }
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

extension StoreError {
    /// What who asks is told of damage; nil for anything else.
    fileprivate var toldAsDamage: (any Error)? {
        guard code == .damaged else { return nil }
        return TandemError(
            .storage, "\(message); stop the daemon and run `tandem check --repair`")
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

    /// Does something with the store, and lets who asks hear of what is no end of the daemon.
    func telling<Result>(_ body: () throws -> Result) throws -> Result {
        do {
            return try body()
        } catch let error as StoreError {
            switch error.code {
            case .tooMuch: throw limitCounts.refusal(.requestReads, limits, error.message)
            case .tooMuchOfObject: throw limitCounts.refusal(.objectReads, limits, error.message)
            default: throw error.toldAsDamage ?? error
            }
        }
    }

    /// Reads what is needed to plan something; whoever wanted it is told of damage, and nobody else's work ends.
    func reading<Result>(_ body: () throws -> Result) throws -> Result {
        do {
            return try body()
        } catch let error as StoreError {
            throw error.toldAsDamage ?? error
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
