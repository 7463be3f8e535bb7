import TandemModel
import TandemWire

extension ManagedObjectContext {
    /// Merges everything up to a position as one group.
    func mergeStep(through target: UInt64) throws -> Step<Void> {
        guard let session, !isCurrent(through: target) || isAnyoneWaiting else {
            return .done(())
        }
        let target = max(target, merged)
        switch connection.recent(
            after: merged, through: target, generation: session.generation)
        {
        case .interrupted(let now): return try restartStep(in: now)
        case .transactions(let found): return try mergeStep(found, through: target)
        case .behind(let floor): return try historyStep(through: target, floor, [])
        }
    }

    private var isAnyoneWaiting: Bool { participants.contains { $0.value?.isWaiting ?? false } }

    private func isCurrent(through target: UInt64) -> Bool {
        merged >= target && connection.knownSession?.generation == session?.generation
    }

    /// Asks for what the ring no longer holds, then goes on with what it holds.
    private func historyStep(
        through target: UInt64, _ floor: UInt64, _ earlier: [Transaction]
    ) throws -> Step<Void> {
        let start = merged
        let from = earlier.last?.position ?? start
        let request = HistoryRequest(
            from: from, to: min(floor, target), interests: connection.interests.sorted(),
            limit: core.limits.historyBatch)
        return .ask(.history(request)) { result in
            guard self.merged == start else { return try self.mergeStep(through: target) }
            if case .failure(let error) = result, error.code == .historyExpired {
                guard let now = self.connection.knownSession else { return .done(()) }
                return try self.restartStep(in: now)
            }
            guard case .history(let history) = try result.get() else {
                throw TandemError(.storage, "the daemon gave no history")
            }
            let all = earlier + (try self.decoded(history))
            if !history.isComplete, !history.transactions.isEmpty {
                return try self.historyStep(through: target, floor, all)
            }
            guard
                case .transactions(let rest) = self.connection.recent(
                    after: max(floor, start), through: target,
                    generation: self.session?.generation ?? 0)
            else { return try self.mergeStep(through: target) }
            return try self.mergeStep(all + rest, through: target)
        }
    }

    private func decoded(_ history: History) throws -> [Transaction] {
        try history.transactions.map { encoded in
            let transaction = try encoded.decoded()
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

    /// Merges transactions; asks for verdicts first if a participant needs any.
    private func mergeStep(
        _ transactions: [Transaction], through target: UInt64
    ) throws -> Step<Void> {
        guard let session else { return .done(()) }
        if transactions.contains(where: { if case .model = $0.content { true } else { false } }) {
            guard let now = connection.knownSession else { return .done(()) }
            return try restartStep(in: now)
        }
        let group = MergedGroup(
            from: merged, to: target, transactions: transactions, model: session.model)
        let all = participants.compactMap(\.value)
        if let step = try refillStep(group, all, [:]) { return step }
        guard !group.changes.isEmpty, all.contains(where: { $0.needs(group) }) else {
            apply(group, verdicts: [:])
            return .done(())
        }
        let askers = all.filter { $0.verdictItem != nil }
        let items = askers.compactMap(\.verdictItem)
        let request = VerdictRequest(from: merged, items: items)
        return .ask(.verdicts(request)) { result in
            guard self.merged == group.from, self.session?.generation == session.generation else {
                return try self.mergeStep(through: target)
            }
            if case .failure(let error) = result, error.code == .historyExpired {
                guard let now = self.connection.knownSession else { return .done(()) }
                return try self.restartStep(in: now)
            }
            guard case .verdicts(let answer) = try result.get() else {
                throw TandemError(.storage, "the daemon gave no verdicts")
            }
            return try self.judged(group, answer, askers)
        }
    }

    /// Extends a group to the position of its verdicts and merges it.
    private func judged(
        _ group: MergedGroup, _ answer: Verdicts, _ askers: [any ResultsParticipant]
    ) throws -> Step<Void> {
        guard let session, answer.items.count == askers.count, answer.position >= group.to else {
            throw TandemError(.storage, "the daemon's verdicts do not fit what was asked")
        }
        guard
            case .transactions(let more) = connection.recent(
                after: group.to, through: answer.position, generation: session.generation),
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
        if let step = try refillStep(whole, participants.compactMap(\.value), verdicts) {
            return step
        }
        apply(whole, verdicts: verdicts, related: answer.related)
        return .done(())
    }
}
