import TandemModel
import TandemWire

/// Repositioning of a pinned context: to an exact position, forward or back, as one change.
extension ManagedObjectContext {
    /// Moves a pinned context forward to a requested position, or fetches the lists that wait for a
    /// fetch.
    func mergePinned(through target: UInt64, _ calls: DaemonCalls) async throws {
        if target > merged { return try await move(to: target, calls) }
        if isAnyoneWaiting { try await fetchWaitingLists(calls) }
    }

    /// Fetches the lists that wait for a fetch, at the context's position.
    private func fetchWaitingLists(_ calls: DaemonCalls) async throws {
        guard let session else { return }
        let group = MergedGroup(from: merged, to: merged, transactions: [], model: session.model)
        try await fetchAndApply(group, [:], [], Repositioning(self), calls)
    }

    /// Moves a pinned context to a position by applying or undoing the transactions in between.
    ///
    /// If these transactions are no longer available or contain a model, the context restarts: at
    /// the target if `isExact`, otherwise at the journal's end. In another log or epoch it always
    /// restarts at the end. A move does not depend on the pin's lease, because moving is the remedy
    /// for an expired lease.
    func move(
        to target: UInt64, isExact: Bool = false, attempt: Int = 1, _ calls: DaemonCalls
    ) async throws {
        guard merged != target, let now = connection.knownSession else {
            return try await fetchWaitingLists(calls)
        }
        try checkAttempt(attempt)
        guard isHere(now) else {
            familyState.pin?.forget()
            return try await restartAndMerge(in: now, calls)
        }
        let move = Repositioning(self, to: target, isExact: isExact, attempt: attempt)
        let start = merged
        let transactions = try await transactions(
            after: min(start, target), through: max(start, target), calls)
        deliver()
        guard isUnderWay(move) else { return try await resume(move, calls) }
        guard let session, let transactions, !transactions.contains(where: \.isModel) else {
            let now = connection.knownSession ?? now
            return try await restartAndMerge(in: now, at: isExact ? target : nil, calls)
        }
        let group =
            target > start
            ? MergedGroup(
                from: start, to: target, transactions: transactions, model: session.model)
            : MergedGroup(
                undoing: transactions, from: start, to: target, model: session.model)
        try await evaluate(group, move.asking(self), calls)
    }

    /// Returns whether the context and its verdict queries are unchanged since a move began.
    ///
    /// Reads at a pin do not change the position. But in the meantime a list may have been fetched
    /// with another request, or objects may have been read for which the group has no changes.
    func isUnderWay(_ move: Repositioning) -> Bool {
        guard merged == move.start, familyState.pin === move.pin else { return false }
        if move.target == move.start { return true }
        return connection.interests == move.interests
            && move.queries.map { $0 == queries } ?? true
    }

    /// Continues a move from the context's present position.
    func resume(_ move: Repositioning, _ calls: DaemonCalls) async throws {
        if move.target == move.start { return try await merge(through: merged, calls) }
        guard familyState.pin != nil else { return try await merge(through: move.target, calls) }
        try await self.move(
            to: move.target, isExact: move.isExact, attempt: move.attempt + 1, calls)
    }

    /// Returns the transactions between two positions, for all interests of the connection.
    ///
    /// Returns nil if the journal lacks some of them. The stream can't be used: it lacks
    /// transactions of entities to which the connection subscribed only later, during a read at an
    /// earlier position.
    private func transactions(
        after start: UInt64, through high: UInt64, _ calls: DaemonCalls
    ) async throws -> [Transaction]? {
        var (low, all) = (start, [Transaction]())
        repeat {
            let request = HistoryRequest(
                from: low, to: high, interests: connection.interests.sorted(),
                limit: core.limits.historyBatch)
            let result = try await calls.answer(to: .history(request))
            if case .failure(let error) = result, error.code == .historyExpired { return nil }
            let history = try Self.history(try result.get(), after: low)
            all += try decoded(history)
            low = history.position
        } while low < high
        return all
    }

    /// Requests verdicts for the lists that can't evaluate the group themselves, and continues.
    private func evaluate(
        _ group: MergedGroup, _ move: Repositioning, _ calls: DaemonCalls
    ) async throws {
        let lists = self.lists
        guard !group.changes.isEmpty, lists.contains(where: { $0.needs(group) }) else {
            return try await fetchAndApply(group, [:], [], move, calls)
        }
        let askers = lists.filter { $0.verdictItem != nil }
        let request = VerdictRequest(
            from: move.start, items: askers.compactMap(\.verdictItem), at: group.to)
        let result = try await tracedAnswer(to: .verdicts(request), calls)
        guard isUnderWay(move) else { return try await resume(move, calls) }
        switch result {
        case .failure(let error) where error.code == .historyExpired:
            for asker in askers { asker.resetAfterGap() }
            try await fetchAndApply(group, [:], [], move, calls)
        case .failure(let error) where !error.isTransient:
            try await evaluateOneByOne(group, move, calls)
        case .success(.verdicts(let answer))
        where answer.items.count == askers.count && answer.position == group.to:
            try check(answer.items.flatMap { $0.map(\.object) })
            try checkRows(answer.related)
            let verdicts = zip(askers, answer.items).map { (ObjectIdentifier($0), $1) }
            try await fetchAndApply(
                group, Dictionary(verdicts, uniquingKeysWith: { $1 }), answer.related, move, calls)
        case .success: throw TandemError.unexpectedAnswer("verdicts")
        case .failure(let error): throw error
        }
    }

    /// Fetches what the lists lack, one list after another, and applies the group.
    func fetchAndApply(
        _ group: MergedGroup, _ verdicts: [ObjectIdentifier: [Verdict]],
        _ related: [StoredObject], _ move: Repositioning, _ calls: DaemonCalls
    ) async throws {
        let isMove = group.to != move.start
        while true {
            guard isUnderWay(move), isMove || move.pin != nil else {
                return try await resume(move, calls)
            }
            guard let (list, lacking) = firstRefill(for: group, verdicts) else { break }
            let pin = isMove ? nil : move.pin
            var fetch = lacking
            (fetch.at, fetch.lease) = (group.to, pin?.lease ?? 0)
            try await pin?.acquire(at: move.start, calls)
            let result = try await tracedAnswer(to: .fetch(fetch), calls)
            guard merged == move.start, familyState.pin === move.pin else {
                return try await resume(move, calls)
            }
            switch result {
            case .success(.fetched(let answer)):
                list.receive(.success(ListAnswer(answer, of: fetch)), for: fetch)
            case .success: throw TandemError.unexpectedAnswer("a request")
            case .failure(let error):
                if error.isTransient { throw isMove ? error : error.atPin }
                list.receive(.failure(error), for: fetch)
                list.deliver()
            }
        }
        if group.isBackward { familyState.merged = group.to }
        apply(group, verdicts: verdicts, related: related)
    }

    /// The present verdict queries of the lists.
    fileprivate var queries: [VerdictQuery] {
        lists.map { VerdictQuery(asker: ObjectIdentifier($0), item: $0.verdictItem) }
    }
}

/// A list's part of a verdict request.
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
