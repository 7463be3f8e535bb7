import TandemModel
import TandemWire

/// Repositioning of a pinned context: to an exact position, forward or back, as one change.
extension ManagedObjectContext {
    /// Moves a pinned context forward to a requested position, or fetches the lists that wait for a
    /// fetch.
    func pinnedMergeStep(through target: UInt64) throws -> Step<Void> {
        if target > merged { return try moveStep(to: target) }
        return isAnyoneWaiting ? try stayStep() : .done(())
    }

    private func stayStep() throws -> Step<Void> {
        guard let session else { return .done(()) }
        let group = MergedGroup(from: merged, to: merged, transactions: [], model: session.model)
        return try settleStep(group, [:], [], Repositioning(self))
    }

    /// Moves a pinned context to a position by applying or undoing the transactions in between.
    ///
    /// If these transactions are no longer available or contain a model, the context restarts: at
    /// the target if `isExact`, otherwise at the journal's end. In another log or epoch it always
    /// restarts at the end. A move does not depend on the pin's lease, because moving is the remedy
    /// for an expired one.
    func moveStep(
        to target: UInt64, isExact: Bool = false, attempt: Int = 1
    ) throws -> Step<Void> {
        guard merged != target, let now = connection.knownSession else { return try stayStep() }
        try checkAttempt(attempt)
        guard isHere(now) else {
            familyState.pin?.forget()
            return try restartStep(in: now)
        }
        let move = Repositioning(self, to: target, isExact: isExact, attempt: attempt)
        let start = merged
        return try pastStep(after: min(start, target), through: max(start, target), []) {
            self.deliver()
            guard self.isUnderWay(move) else { return try self.againStep(move) }
            guard let session = self.session, let transactions = $0,
                !transactions.contains(where: { $0.isModel })
            else {
                let now = self.connection.knownSession ?? now
                return try self.restartStep(in: now, at: isExact ? target : nil)
            }
            return try self.judgeStep(
                target > start
                    ? MergedGroup(
                        from: start, to: target, transactions: transactions, model: session.model)
                    : MergedGroup(
                        undoing: transactions, from: start, to: target, model: session.model),
                move.asking(self))
        }
    }

    /// Returns whether the context and its verdict queries are unchanged since a move began.
    ///
    /// Reads at a pin do not change the position. But meanwhile a list may have been fetched with
    /// another request, or objects may have been read for which the group has no changes.
    func isUnderWay(_ move: Repositioning) -> Bool {
        guard merged == move.start, familyState.pin === move.pin else { return false }
        if move.target == move.start { return true }
        return connection.interests == move.interests
            && move.queries.map { $0 == queries } ?? true
    }

    /// Continues a move from the context's present position.
    func againStep(_ move: Repositioning) throws -> Step<Void> {
        if move.target == move.start { return try mergeStep(through: merged) }
        guard familyState.pin != nil else { return try mergeStep(through: move.target) }
        return try moveStep(to: move.target, isExact: move.isExact, attempt: move.attempt + 1)
    }

    /// Passes the transactions between two positions, for all interests of the connection, to
    /// `use`.
    ///
    /// Passes nil if the journal lacks some of them. The stream can't be used: it lacks
    /// transactions of entities to which the connection subscribed only later, when it read at an
    /// earlier position.
    private func pastStep(
        after low: UInt64, through high: UInt64, _ earlier: [Transaction],
        use: @escaping ([Transaction]?) throws -> Step<Void>
    ) throws -> Step<Void> {
        let request = HistoryRequest(
            from: low, to: high, interests: connection.interests.sorted(),
            limit: core.limits.historyBatch)
        return .ask(.history(request)) { result in
            if case .failure(let error) = result, error.code == .historyExpired {
                return try use(nil)
            }
            guard case .history(let history) = try result.get(), history.position > low else {
                throw TandemError.unexpectedAnswer("the history after position \(low)")
            }
            let all = earlier + (try self.decoded(history))
            if history.position >= high { return try use(all) }
            return try self.pastStep(after: history.position, through: high, all, use: use)
        }
    }

    /// Requests verdicts for the lists that can't evaluate the group themselves, and continues.
    private func judgeStep(_ group: MergedGroup, _ move: Repositioning) throws -> Step<Void> {
        let all = participants.compactMap(\.value)
        guard !group.changes.isEmpty, all.contains(where: { $0.needs(group) })
        else { return try settleStep(group, [:], [], move) }
        let askers = all.filter { $0.verdictItem != nil }
        let request = VerdictRequest(
            from: move.start, items: askers.compactMap(\.verdictItem), at: group.to)
        return tracedAsk(.verdicts(request)) { result in
            guard self.isUnderWay(move) else { return try self.againStep(move) }
            if case .failure(let error) = result, error.code == .historyExpired {
                for asker in askers { asker.resetAfterGap() }
                return try self.settleStep(group, [:], [], move)
            }
            if case .failure(let error) = result, !error.isPassing {
                return try self.judgeAloneStep(group, move)
            }
            guard case .verdicts(let answer) = try result.get(),
                answer.items.count == askers.count, answer.position == group.to
            else { throw TandemError.unexpectedAnswer("verdicts") }
            try self.check(answer.items.flatMap { $0.map(\.object) })
            try self.checkRows(answer.related)
            let verdicts = zip(askers, answer.items).map { (ObjectIdentifier($0), $1) }
            return try self.settleStep(
                group, Dictionary(verdicts, uniquingKeysWith: { $1 }), answer.related, move)
        }
    }

    /// Fetches what the lists lack, one list after another, and applies the group.
    func settleStep(
        _ group: MergedGroup, _ verdicts: [ObjectIdentifier: [Verdict]],
        _ related: [StoredObject], _ move: Repositioning
    ) throws -> Step<Void> {
        let isMove = group.to != move.start
        guard isUnderWay(move), isMove || move.pin != nil else { return try againStep(move) }
        for participant in participants.compactMap(\.value) {
            let own = verdicts[ObjectIdentifier(participant)]
            guard var fetch = participant.refill(for: group, own) else { continue }
            let pin = isMove ? nil : move.pin
            (fetch.at, fetch.lease) = (group.to, pin?.lease ?? 0)
            let asked = fetch
            return try (try pin?.takeStep(at: move.start) ?? .done(())).then { _ -> Step<Void> in
                self.tracedAsk(.fetch(asked)) { result in
                    guard self.merged == move.start, self.familyState.pin === move.pin else {
                        return try self.againStep(move)
                    }
                    switch result {
                    case .success(.fetched(let answer)):
                        participant.receive(.success(ListAnswer(answer, of: asked)), for: asked)
                    case .success(let other): throw Step<Void>.unexpected(other)
                    case .failure(let error):
                        if error.isPassing { throw isMove ? error : error.atPin }
                        participant.receive(.failure(error), for: asked)
                        participant.deliver()
                    }
                    return try self.settleStep(group, verdicts, related, move)
                }
            }
        }
        if group.isBackward { familyState.merged = group.to }
        apply(group, verdicts: verdicts, related: related)
        return .done(())
    }

    /// The present verdict queries of the participants.
    fileprivate var queries: [VerdictQuery] {
        participants.compactMap(\.value).map {
            VerdictQuery(asker: ObjectIdentifier($0), item: $0.verdictItem)
        }
    }
}

/// A participant's part of a verdict request.
private struct VerdictQuery: Equatable {
    var asker: ObjectIdentifier
    var item: VerdictItem?
}

/// A repositioning of a context to an exact position, or a stay at its position.
///
/// It includes the state of the context when the repositioning began.
struct Repositioning {
    let start: UInt64
    let target: UInt64
    let isExact: Bool
    let attempt: Int
    let pin: Pin?
    let interests: Set<EntityTag>
    /// The verdict queries at the time of the request; nil before it.
    fileprivate var queries: [VerdictQuery]?

    init(
        _ context: ManagedObjectContext, to target: UInt64? = nil, isExact: Bool = false,
        attempt: Int = 1
    ) {
        start = context.merged
        self.target = target ?? start
        self.isExact = isExact
        self.attempt = attempt
        pin = context.familyState.pin
        interests = context.connection.interests
    }

    /// Returns a copy with the present verdict queries of the context.
    func asking(_ context: ManagedObjectContext) -> Repositioning {
        var move = self
        move.queries = context.queries
        return move
    }
}

extension Transaction {
    /// Whether the transaction installed a model.
    fileprivate var isModel: Bool { if case .model = content { true } else { false } }
}
