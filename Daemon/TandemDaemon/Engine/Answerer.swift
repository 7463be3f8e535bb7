import TandemModel
import TandemQuery
import TandemStore
import TandemWire

/// Answers reads at the durable position, from the open write transaction, between batches.
struct Answerer {
    let committer: Committer
    let session: Session
    let journalMaintenance: JournalMaintenance
    /// The maximum number of objects that a small read examines.
    let smallReadWork: Int

    var limits: DaemonLimits { committer.limits }

    var model: CompiledModel {
        get throws(TandemError) {
            guard let model = committer.store.model else {
                throw TandemError.noModel(.unknownEntity)
            }
            return model
        }
    }

    // MARK: Reads

    /// Returns the answer to a request for history or for a long value.
    func answer(_ message: ClientMessage) throws -> DaemonMessage {
        switch message {
        case .history(let request):
            .history(try StoreError.mappingReadErrors(committer) { try history(request) })
        case .blob(let blob):
            .blob(try StoreError.mappingReadErrors(committer) { try content(of: blob) })
        case .status, .hello, .save, .sync, .schema, .disconnect, .lease, .consumer, .pin, .batch,
            .insert,
            .vacuum, .cancel, .reload, .fetch, .explain, .read, .verdicts:
            preconditionFailure("The engine answers these requests itself.")
        }
    }

    /// Returns the answer to a small read, which evaluates a few objects; nil if a reader must
    /// carry out the read.
    func answerSmallRead(_ read: CompiledRead) throws -> DaemonMessage? {
        guard read.compilesQuickly else { return nil }
        let window = ReadWindow(read)
        guard try extendWindow(window) else { return nil }
        let run = ReadRun(
            view: committer.store, model: try model, limits: limits,
            counts: committer.limitCounters, window: window, smallReadWork: smallReadWork,
            weight: read.weight)
        do {
            let answer = try run.answer(read)
            guard case .fetched(let fetched) = answer.message,
                AnswerChunker(fetched).bytes > limits.chunkBytes
            else { return answer.message }
            return nil
        } catch let error as StoreError where error.code == .interrupted {
            return nil
        }
    }

    /// Adds the transactions since the request's positions to the window; returns false if there
    /// are too many.
    private func extendWindow(_ window: ReadWindow?) throws -> Bool {
        guard let window else { return true }
        guard committer.position - window.position <= DaemonLimits.smallReadTransactions else {
            return false
        }
        let (model, source) = (try model, session.readSource)
        defer { source.rest() }
        var bytes = 0
        while window.position < committer.position {
            let next = try source.transaction(at: window.position + 1, committer.ring)
            bytes += next.bytes.count
            guard bytes <= DaemonLimits.smallReadHistoryBytes else { return false }
            try window.add(next, model)
        }
        return true
    }

    /// Validates and compiles a read request.
    func compile(_ message: ClientMessage) throws -> CompiledRead {
        switch message {
        case .fetch(let fetch), .explain(let fetch):
            try RequestSize(committer).check(fetch)
            try journalMaintenance.check(fetch.lease, at: fetch.at, session)
            if fetch.at != 0 { try committer.check(readingAt: fetch.at) }
        case .read(let read):
            try journalMaintenance.check(read.lease, at: read.at, session)
            if read.at != 0 { try committer.check(readingAt: read.at) }
        case .verdicts(let request):
            try check(request)
            try checkPositions(of: request)
        default: preconditionFailure("The message is not a read.")
        }
        guard let compiled = try CompiledRead(message, in: try model) else {
            preconditionFailure("The message is not a read.")
        }
        return compiled
    }

    private func content(of blob: BlobReference) throws -> [UInt8] {
        if let content = try committer.store.content(of: blob) { return content }
        throw TandemError(
            .unknownObject,
            "the store no longer has the content \(blob): no object has it, and the transactions that "
                + "had it were removed; refresh the object")
    }

    // MARK: The journal

    private func check(_ request: VerdictRequest) throws {
        guard request.items.count <= limits.controllers else {
            throw committer.limitCounters.refusal(
                .controllers, limits, "the request has lists of \(request.items.count) controllers")
        }
        for item in request.items { try RequestSize(committer).check(item.request) }
        if case .fetch(let fetch) = request.alongside { try RequestSize(committer).check(fetch) }
        let isPast =
            switch request.alongside {
            case .fetch(let fetch): fetch.at != 0
            case .read(let read): read.at != 0
            case nil: false
            }
        guard !isPast else {
            throw TandemError(.usage, "a read with verdicts must not have a position of its own")
        }
    }

    /// Throws `historyExpired` if the transactions between the client's position and the requested
    /// one are not available.
    private func checkPositions(of request: VerdictRequest) throws {
        let (from, to) = (request.from, request.at)
        guard to != 0 else { return try check(changesAfter: from) }
        guard request.alongside == nil else {
            throw TandemError(
                .usage, "verdicts at an earlier position cannot be combined with a read")
        }
        for position in [min(from, to), max(from, to)] { try committer.check(readingAt: position) }
        for position in [from, to] { try check(changesAfter: position) }
    }

    private func check(changesAfter from: UInt64) throws(TandemError) {
        guard from >= committer.store.modelPosition, from <= committer.position else {
            throw TandemError(
                .historyExpired, "position \(from) belongs to another model; fetch again")
        }
        guard committer.position - from <= UInt64(limits.verdictTransactions) else {
            throw committer.limitCounters.refusal(
                .verdictTransactions, limits,
                "\(committer.position - from) transactions are too many for one request; fetch "
                    + "again", code: .historyExpired)
        }
    }
}

extension Committer {
    /// Throws if the graph at a position can't be read.
    ///
    /// The error is `historyExpired` if the position is too old or in the future, and
    /// `limitExceeded` if too many transactions would have to be undone.
    func check(readingAt position: UInt64) throws {
        let (end, bounds) = (self.position, journal.bounds)
        guard position <= end else {
            throw TandemError.afterEnd(position, last: end)
        }
        let oldest = max(bounds.first - 1, store.modelPosition)
        guard position >= oldest else {
            throw TandemError(
                .historyExpired,
                "the state at position \(position) can no longer be read; the oldest readable position is "
                    + "\(oldest)")
        }
        try checkLookBack(to: position)
    }

    /// Throws `limitExceeded` if there are more transactions after a position than a read may undo.
    func checkLookBack(to position: UInt64) throws(TandemError) {
        let count = self.position - position
        guard count <= UInt64(limits.lookBackTransactions) else {
            throw limitCounters.refusal(
                .lookBackTransactions, limits,
                "\(count) transactions are too many to undo; read at a newer position")
        }
    }
}

extension Store {
    /// The model in binary form; nil in a store without one.
    var modelBytes: [UInt8]? {
        model.map { model in
            var writer = ByteWriter()
            model.encode(into: &writer)
            return writer.bytes
        }
    }
}
