import TandemModel
import TandemWire

/// Merges transactions into a context: collects them, requests verdicts, and refills lists that
/// lack rows.
struct MergeEngine: ContextPart {
    let context: ManagedObjectContext

    /// Merges all transactions up to a position as one group.
    func merge(through target: UInt64, _ calls: DaemonCalls) async throws {
        if let parent { return try await parent.merger.merge(through: target, calls) }
        if family.pin != nil { return try await pins.mergePinned(through: target, calls) }
        guard let session, !isCurrent(through: target) || participants.hasWaitingList else {
            return
        }
        let target = max(target, merged)
        let found = try await collect(after: merged, through: target, in: session, calls)
        if let found { try await merge(found, through: target, calls) }
    }

    private func isCurrent(through target: UInt64) -> Bool {
        merged >= target && connection.knownSession?.generation == session?.generation
    }

    /// Returns all transactions up to a target; those no longer in the ring are requested from the
    /// daemon.
    ///
    /// Collecting always ends, however often others save: collected transactions are kept even if
    /// the ring advances, and the target is fixed. If the context moved meanwhile, it merges up to
    /// the target from its new position, and the result is nil.
    private func collect(
        after start: UInt64, through target: UInt64, in session: ServerState, _ calls: DaemonCalls
    ) async throws -> [Transaction]? {
        let generation = session.generation
        var (low, all) = (start, [Transaction]())
        while true {
            let floor: UInt64
            switch connection.recent(after: low, through: target, generation: generation) {
            case .interrupted(let now):
                try await restartAndMerge(in: now, calls)
                return nil
            case .transactions(let found): return all + found
            case .expired where low >= target: return all
            case .expired(let first): floor = first
            }
            let before = merged
            var pages = HistoryPages(
                HistoryRequest(
                    from: low, to: min(floor, target), interests: connection.interests.sorted(),
                    limit: core.limits.historyBatch))
            let result = try await calls.answer(to: .history(pages.request))
            guard merged == before, self.session?.generation == generation,
                family.pin == nil, connection.knownGeneration == generation
            else {
                try await merge(through: target, calls)
                return nil
            }
            if case .failure(let error) = result, error.code == .historyExpired {
                try await restartAndMerge(calls)
                return nil
            }
            all += try decoded(try pages.accept(result))
            low = pages.position
        }
    }

    func decoded(_ history: History) throws -> [Transaction] {
        var isOtherModel = false
        return try history.transactions.map { encoded in
            let transaction = try encoded.decoded()
            // Transactions after a model change belong to the new model; the context restarts
            // instead of merging them.
            if case .model = transaction.content { isOtherModel = true }
            if isOtherModel { return transaction }
            for change in transaction.changes {
                guard let entity = session?.model.entity(tagged: change.object.tag),
                    change.isValid(for: entity)
                else {
                    throw TandemError(
                        .storage, "transaction \(transaction.position) does not fit the model")
                }
            }
            return transaction
        }
    }

    /// Merges transactions, after requesting verdicts if a list needs them.
    private func merge(
        _ transactions: [Transaction], through target: UInt64, _ calls: DaemonCalls
    ) async throws {
        guard let session else { return }
        if transactions.contains(where: \.isModel) { return try await restartAndMerge(calls) }
        let lists = participants.lists
        if transactions.isEmpty, !participants.hasAny { return family.advance(to: target) }
        let group = MergedGroup(
            from: merged, to: target, transactions: transactions, model: session.model)
        if try await refill(for: group, [:], calls) { return }
        guard !group.changes.isEmpty, lists.contains(where: { $0.needs(group) }) else {
            return applier.apply(group, verdicts: [:])
        }
        let queryingLists = lists.filter { $0.verdictItem != nil }
        let request = VerdictRequest(from: merged, items: queryingLists.compactMap(\.verdictItem))
        let result = try await loggedAnswer(to: .verdicts(request), calls)
        guard merged == group.from, self.session?.generation == session.generation,
            family.pin == nil
        else { return try await merge(through: target, calls) }
        switch result {
        case .failure(let error) where error.code == .historyExpired:
            try await restartAndMerge(calls)
        case .failure(let error) where !error.isTransient:
            try await evaluateOneByOne(
                group, Repositioning(context, to: group.to).asking(pins.queries), calls)
        case .success(.verdicts(let answer)): try await merge(group, answer, queryingLists, calls)
        case .success: throw TandemError.unexpectedAnswer("verdicts")
        case .failure(let error): throw error
        }
    }

    /// Extends a group to the position of its verdicts and merges it.
    func merge(
        _ group: MergedGroup, _ answer: Verdicts, _ queryingLists: [any ListParticipant],
        _ calls: DaemonCalls
    ) async throws {
        guard let before = session, answer.items.count == queryingLists.count,
            answer.position >= group.to
        else { throw TandemError.unexpectedAnswer("verdicts") }
        let more = try await collect(
            after: group.to, through: answer.position, in: before, calls)
        guard let more else { return }
        guard let session, !more.contains(where: \.isModel) else {
            return try await merge(through: answer.position, calls)
        }
        let whole =
            more.isEmpty && group.to == answer.position
            ? group
            : MergedGroup(
                from: group.from, to: answer.position, transactions: group.transactions + more,
                model: session.model)
        var verdicts: [ObjectIdentifier: [Verdict]] = [:]
        for (list, item) in zip(queryingLists, answer.items) {
            verdicts[ObjectIdentifier(list)] = item
        }
        try graph.check(answer.items.flatMap { $0.map(\.object) })
        try graph.checkRows(answer.related)
        if try await refill(for: whole, verdicts, calls) {
            return
        }
        applier.apply(whole, verdicts: verdicts, related: answer.related)
    }

    // MARK: Lists that lack rows

    /// Fetches the rows missing from the first list that lacks any, and merges up to the answer's
    /// position; returns false if no list lacks rows.
    func refill(
        for group: MergedGroup, _ verdicts: [ObjectIdentifier: [Verdict]], _ calls: DaemonCalls
    ) async throws -> Bool {
        guard let (list, fetch) = firstRefill(for: group, verdicts) else { return false }
        try await refill(list, fetch, group.to, calls)
        return true
    }

    /// Fetches the rows that a list lacks, and merges up to the answer's position, and at least up
    /// to `target`.
    ///
    /// In a blocking call, a list is built from the answer's chunks as they arrive.
    private func refill(
        _ list: any ListParticipant, _ fetch: Fetch, _ target: UInt64, _ calls: DaemonCalls
    ) async throws {
        let generation = session?.generation
        for attempt in 1... {
            let chunks = fetch.kind == .list ? ChunkReader() : nil
            let result = try await loggedAnswer(to: .fetch(fetch), into: chunks, calls)
            guard session?.generation == generation, family.pin == nil else {
                chunks?.discard()
                return try await merge(through: target, calls)
            }
            switch try listAnswer(result, of: fetch, chunks) {
            case .success(let fetched):
                list.receive(.success(fetched), for: fetch)
                return try await merge(through: max(target, fetched.answer.position), calls)
            case .failure(let error):
                if chunks?.isLost ?? false, attempt < core.limits.requestAttempts { continue }
                if error.isTransient { throw error }
                list.receive(.failure(error), for: fetch)
                list.deliver()
                return try await merge(through: target, calls)
            }
        }
    }

    /// Returns the first list that lacks rows, and a fetch for these rows.
    func firstRefill(
        for group: MergedGroup, _ verdicts: [ObjectIdentifier: [Verdict]]
    ) -> (list: any ListParticipant, fetch: Fetch)? {
        for list in participants.lists {
            let own = verdicts[ObjectIdentifier(list)]
            if let fetch = list.refill(for: group, own) { return (list, fetch) }
        }
        return nil
    }

    /// Assembles the answer to a fetch; throws if the answer is of a different kind.
    private func listAnswer(
        _ result: Result<DaemonMessage, TandemError>, of fetch: Fetch, _ chunks: ChunkReader?
    ) throws -> Result<ListAnswer, TandemError> {
        switch result {
        case .success(.fetched(let head)):
            Result { () throws(TandemError) in
                try ListAnswer(head, of: fetch, chunks, from: connection)
            }
        case .success: throw TandemError.unexpectedAnswer("a request")
        case .failure(let error): .failure(error)
        }
    }

    // MARK: Lists one by one

    /// Requests the verdicts for each list separately, at the end of the group, and merges the
    /// group.
    ///
    /// A list whose request is refused again is fetched at that position; if the fetch is refused
    /// too, the list fails. The other lists continue in either case.
    func evaluateOneByOne(
        _ group: MergedGroup, _ move: Repositioning, _ calls: DaemonCalls
    ) async throws {
        var verdicts: [ObjectIdentifier: [Verdict]] = [:]
        var related: [StoredObject] = []
        for list in participants.lists {
            guard let item = list.verdictItem else { continue }
            let request = VerdictRequest(from: move.start, items: [item], at: group.to)
            let result = try await loggedAnswer(to: .verdicts(request), calls)
            guard pins.isStillValid(move), move.pin != nil || isOnStream else {
                return try await pins.resume(move, calls)
            }
            switch result {
            case .success(.verdicts(let answer)):
                guard let own = answer.items.first, answer.position == group.to else {
                    throw TandemError.unexpectedAnswer("verdicts")
                }
                try graph.check(own.map(\.object))
                try graph.checkRows(answer.related)
                verdicts[ObjectIdentifier(list)] = own
                related += answer.related
            case .success: throw TandemError.unexpectedAnswer("a request")
            case .failure(let error):
                if error.isTransient, error.code != .historyExpired { throw error }
                list.resetAfterGap()
            }
        }
        try await pins.fetchAndApply(group, verdicts, related, move, calls)
    }

    /// Whether the context's session is the connection's current one.
    private var isOnStream: Bool { connection.knownSession?.generation == session?.generation }

    // MARK: Restarting

    /// Restarts the context, and fetches its lists again; does nothing before the first connection.
    func restartAndMerge(_ calls: DaemonCalls) async throws {
        if let now = connection.knownSession { try await restartAndMerge(in: now, calls) }
    }

    /// Restarts the context in a session, and fetches its lists again.
    func restartAndMerge(
        in now: ServerState, at position: UInt64? = nil, _ calls: DaemonCalls
    ) async throws {
        applier.restart(in: now, at: position ?? now.position)
        try await merge(through: merged, calls)
    }
}

extension Transaction {
    /// Whether the transaction installed a model.
    var isModel: Bool { if case .model = content { true } else { false } }
}

extension TandemError {
    /// Whether the same request may succeed if it is repeated later.
    var isTransient: Bool {
        switch code {
        case .disconnected, .timeout, .cancelled, .historyExpired, .readOnly, .unknownOutcome: true
        default: false
        }
    }
}
