import TandemModel
import TandemWire

extension ManagedObjectContext {
    /// Merges everything up to a position as one group.
    func mergeStep(through target: UInt64) throws -> Step<Void> {
        if let parent { return try parent.mergeStep(through: target) }
        if familyState.pin != nil { return try pinnedMergeStep(through: target) }
        guard let session, !isCurrent(through: target) || isAnyoneWaiting else {
            return .done(())
        }
        let target = max(target, merged)
        return try collectStep(after: merged, through: target, [], in: session) { found in
            try self.mergeStep(found, through: target)
        }
    }

    var isAnyoneWaiting: Bool { participants.contains { $0.value?.isWaiting ?? false } }

    private func isCurrent(through target: UInt64) -> Bool {
        merged >= target && connection.knownSession?.generation == session?.generation
    }

    /// Passes all transactions up to a target to `use`; those no longer in the ring are requested.
    ///
    /// Collected transactions are kept even if the ring advances, and the target is fixed. The
    /// collection therefore ends however often others save. If the context moved meanwhile, it
    /// merges up to the target from its new position.
    private func collectStep(
        after low: UInt64, through target: UInt64, _ earlier: [Transaction],
        in session: ServerState,
        use: @escaping ([Transaction]) throws -> Step<Void>
    ) throws -> Step<Void> {
        let floor: UInt64
        switch connection.recent(after: low, through: target, generation: session.generation) {
        case .interrupted(let now): return try restartStep(in: now)
        case .transactions(let found): return try use(earlier + found)
        case .behind where low >= target: return try use(earlier)
        case .behind(let first): floor = first
        }
        let start = merged
        let request = HistoryRequest(
            from: low, to: min(floor, target), interests: connection.interests.sorted(),
            limit: core.limits.historyBatch)
        return .ask(.history(request)) { result in
            guard self.merged == start, self.session?.generation == session.generation,
                self.familyState.pin == nil,
                self.connection.knownSession?.generation == session.generation
            else { return try self.mergeStep(through: target) }
            if case .failure(let error) = result, error.code == .historyExpired {
                guard let now = self.connection.knownSession else { return .done(()) }
                return try self.restartStep(in: now)
            }
            guard case .history(let history) = try result.get(), history.position > low else {
                throw TandemError.unexpectedAnswer("the history after position \(low)")
            }
            let all = earlier + (try self.decoded(history))
            return try self.collectStep(
                after: history.position, through: target, all, in: session, use: use)
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

    /// Merges transactions, after requesting verdicts if a participant needs them.
    private func mergeStep(
        _ transactions: [Transaction], through target: UInt64
    ) throws -> Step<Void> {
        guard let session else { return .done(()) }
        if transactions.contains(where: { if case .model = $0.content { true } else { false } }) {
            guard let now = connection.knownSession else { return .done(()) }
            return try restartStep(in: now)
        }
        let all = participants.compactMap(\.value)
        if transactions.isEmpty, all.isEmpty, undelivered.isEmpty {
            advance(to: target)
            return .done(())
        }
        let group = MergedGroup(
            from: merged, to: target, transactions: transactions, model: session.model)
        if let step = try refillStep(group, all, [:]) { return step }
        guard !group.changes.isEmpty, all.contains(where: { $0.needs(group) }) else {
            apply(group, verdicts: [:])
            return .done(())
        }
        let askers = all.filter { $0.verdictItem != nil }
        let items = askers.compactMap(\.verdictItem)
        let request = VerdictRequest(from: merged, items: items)
        return tracedAsk(.verdicts(request)) { result in
            guard self.merged == group.from, self.session?.generation == session.generation,
                self.familyState.pin == nil
            else { return try self.mergeStep(through: target) }
            if case .failure(let error) = result, error.code == .historyExpired {
                guard let now = self.connection.knownSession else { return .done(()) }
                return try self.restartStep(in: now)
            }
            if case .failure(let error) = result, !error.isPassing {
                return try self.judgeAloneStep(
                    group, Repositioning(self, to: group.to).asking(self))
            }
            guard case .verdicts(let answer) = try result.get() else {
                throw TandemError.unexpectedAnswer("verdicts")
            }
            return try self.judged(group, answer, askers)
        }
    }

    /// Extends a group to the position of its verdicts and merges it.
    func judged(
        _ group: MergedGroup, _ answer: Verdicts, _ askers: [any MergeParticipant]
    ) throws -> Step<Void> {
        guard let session, answer.items.count == askers.count, answer.position >= group.to else {
            throw TandemError.unexpectedAnswer("verdicts")
        }
        return try collectStep(after: group.to, through: answer.position, [], in: session) {
            try self.judged(group, answer, askers, $0)
        }
    }

    private func judged(
        _ group: MergedGroup, _ answer: Verdicts, _ askers: [any MergeParticipant],
        _ more: [Transaction]
    ) throws -> Step<Void> {
        guard let session,
            !more.contains(where: { if case .model = $0.content { true } else { false } })
        else { return try mergeStep(through: answer.position) }
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
        if let step = try refillStep(whole, participants.compactMap(\.value), verdicts) {
            return step
        }
        apply(whole, verdicts: verdicts, related: answer.related)
        return .done(())
    }
}
