import TandemModel
import TandemWire

extension ManagedObjectContext {
    /// Merges everything up to a position as one group.
    func merge(through target: UInt64, _ calls: DaemonCalls) async throws {
        if let parent { return try await parent.merge(through: target, calls) }
        if familyState.pin != nil { return try await mergePinned(through: target, calls) }
        guard let session, !isCurrent(through: target) || isAnyoneWaiting else { return }
        let target = max(target, merged)
        let found = try await collect(after: merged, through: target, in: session, calls)
        if let found { try await merge(found, through: target, calls) }
    }

    var isAnyoneWaiting: Bool { participants.contains { $0.list?.isWaiting ?? false } }

    private func isCurrent(through target: UInt64) -> Bool {
        merged >= target && connection.knownSession?.generation == session?.generation
    }

    /// Returns all transactions up to a target; those no longer in the ring are requested.
    ///
    /// Collected transactions are kept even if the ring advances, and the target is fixed.
    /// Collecting therefore ends, however often others save. If the context moved meanwhile, it
    /// merges up to the target from its new position, and the result is nil.
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
            case .behind where low >= target: return all
            case .behind(let first): floor = first
            }
            let before = merged
            let request = HistoryRequest(
                from: low, to: min(floor, target), interests: connection.interests.sorted(),
                limit: core.limits.historyBatch)
            let result = try await calls.answer(to: .history(request))
            guard merged == before, self.session?.generation == generation,
                familyState.pin == nil, connection.knownGeneration == generation
            else {
                try await merge(through: target, calls)
                return nil
            }
            if case .failure(let error) = result, error.code == .historyExpired {
                try await restartAndMerge(calls)
                return nil
            }
            let history = try Self.history(try result.get(), after: low)
            all += try decoded(history)
            low = history.position
        }
    }

    /// Returns the history in an answer; throws `storage` if it does not reach beyond a position.
    static func history(
        _ answer: DaemonMessage, after position: UInt64
    ) throws(TandemError) -> History {
        guard case .history(let history) = answer, history.position > position else {
            throw TandemError.unexpectedAnswer("the history after position \(position)")
        }
        return history
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
        let lists = self.lists
        if transactions.isEmpty, undelivered.isEmpty, participants.allSatisfy({ $0.value == nil }) {
            return advance(to: target)
        }
        let group = MergedGroup(
            from: merged, to: target, transactions: transactions, model: session.model)
        if try await refill(for: group, [:], calls) { return }
        guard !group.changes.isEmpty, lists.contains(where: { $0.needs(group) }) else {
            return apply(group, verdicts: [:])
        }
        let askers = lists.filter { $0.verdictItem != nil }
        let request = VerdictRequest(from: merged, items: askers.compactMap(\.verdictItem))
        let result = try await tracedAnswer(to: .verdicts(request), calls)
        guard merged == group.from, self.session?.generation == session.generation,
            familyState.pin == nil
        else { return try await merge(through: target, calls) }
        switch result {
        case .failure(let error) where error.code == .historyExpired:
            try await restartAndMerge(calls)
        case .failure(let error) where !error.isTransient:
            try await evaluateOneByOne(group, Repositioning(self, to: group.to).asking(self), calls)
        case .success(.verdicts(let answer)): try await merge(group, answer, askers, calls)
        case .success: throw TandemError.unexpectedAnswer("verdicts")
        case .failure(let error): throw error
        }
    }

    /// Extends a group to the position of its verdicts and merges it.
    func merge(
        _ group: MergedGroup, _ answer: Verdicts, _ askers: [any ListParticipant],
        _ calls: DaemonCalls
    ) async throws {
        guard let before = session, answer.items.count == askers.count,
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
        for (asker, item) in zip(askers, answer.items) { verdicts[ObjectIdentifier(asker)] = item }
        try check(answer.items.flatMap { $0.map(\.object) })
        try checkRows(answer.related)
        if try await refill(for: whole, verdicts, calls) {
            return
        }
        apply(whole, verdicts: verdicts, related: answer.related)
    }
}

extension Transaction {
    /// Whether the transaction installed a model.
    var isModel: Bool { if case .model = content { true } else { false } }
}
