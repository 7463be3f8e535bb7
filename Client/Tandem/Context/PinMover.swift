import TandemModel
import TandemWire

/// Pins a context at a position, and moves a pinned context to an exact position, forward or back,
/// as one change.
struct PinMover: ContextPart {
    let context: ManagedObjectContext

    /// Pins the context at a position, or at its current one if `position` is nil.
    func pin(_ position: Position?, _ calls: DaemonCalls) async throws -> Position {
        if let parent { return try await parent.pins.pin(position, calls) }
        forgetExpiry()
        let session = try await connectedSession(calls)
        let position = position ?? session.position(merged)
        _ = try await wait(for: position, session, calls)
        guard position.number >= merged || !isFamilyEdited else {
            throw TandemError(
                .usage,
                "unsaved edits belong to \(session.position(merged)): save them or roll back "
                    + "before moving back to \(position)")
        }
        let before = family.pin
        let pin = before ?? Pin(connection)
        do {
            try await readHistory(pin, towards: position.number, calls)
            family.pin = pin
            if let now = connection.knownSession, !isSameLog(now) {
                try await merger.restartAndMerge(in: now, at: position.number, calls)
            } else {
                try await move(to: position.number, isExact: true, calls)
            }
            try await pin.acquire(at: position.number, isRenewed: true, calls)
        } catch {
            if family.pin === pin { family.pin = before }
            throw error
        }
        return try await connected(calls)
    }

    /// Extends the pin's lease to the history needed to move to a position and to read there.
    private func readHistory(
        _ pin: Pin, towards position: UInt64, _ calls: DaemonCalls
    ) async throws {
        if merged < position, (try? await pin.acquire(at: merged, calls)) != nil { return }
        // If the current position can no longer be pinned, the move restarts the context at the
        // target.
        try await pin.acquire(at: position, isRenewed: true, calls)
    }

    /// Moves to the journal's end, ends the pin, and resumes automatic merging.
    func unpin(_ calls: DaemonCalls) async throws -> Position {
        if let parent { return try await parent.pins.unpin(calls) }
        forgetExpiry()
        guard family.pin != nil else { return try await connected(calls) }
        let end = try await calls.journalEnd()
        try await move(to: max(end, merged), calls)
        follow()
        return try await connected(calls)
    }

    /// Returns the context to the stream of its connection.
    private func follow() {
        family.pin = nil
        // Everything up to the current position is merged, so earlier gaps in the stream do not
        // matter; later gaps are filled with requested history.
        if let now = connection.knownSession, isSameLog(now) {
            family.join(now)
        }
        family.link.signal()
    }

    /// Waits until the journal reaches a position, without merging anything.
    func wait(
        for position: Position, _ session: ServerState, _ calls: DaemonCalls
    ) async throws -> ServerState {
        guard position.number > 0 else {
            throw TandemError(.historyExpired, "position 0 has no state to read; the first is 1")
        }
        let known = connection.knownSession ?? session
        if position.isComparable(with: known.position(0)), position.number <= known.position {
            return session
        }
        let end = try await calls.journalEnd(
            atLeast: position.number, milliseconds: UInt32(ClientLimits.pinSeconds * 1_000))
        guard let now = connection.knownSession, position.isComparable(with: now.position(0)) else {
            throw TandemError.foreign(position)
        }
        guard end >= position.number else {
            throw TandemError.notReached(position.number, last: end)
        }
        return session
    }

    /// Discards the error of an expired pin, because moving the pin is the remedy.
    private func forgetExpiry() {
        if family.pin != nil { failures.forgetExpiry() }
    }

    /// Whether this context or a child has edits.
    private var isFamilyEdited: Bool {
        editor.hasPendingEdits || saving.inFlight != nil
            || children.contains { $0.pins.isFamilyEdited }
    }

    /// Returns whether a session has the same log and epoch as the context.
    func isSameLog(_ now: ServerState) -> Bool {
        now.log == session?.log && now.epoch == session?.epoch
    }

    /// Releases the pin without moving the context, so that the next read restarts it at the
    /// journal's end.
    ///
    /// The restart is necessary: the stream lacks transactions of entities that the session
    /// subscribed to while it read at the pin.
    func leavePin() {
        guard family.pin != nil else { return }
        family.pin = nil
        family.leaveStream()
    }

    // MARK: Moving

    /// Moves a pinned context forward to a requested position, or fetches the lists that wait for a
    /// fetch.
    func mergePinned(through target: UInt64, _ calls: DaemonCalls) async throws {
        if target > merged { return try await move(to: target, calls) }
        if participants.hasWaitingList { try await fetchWaitingLists(calls) }
    }

    /// Fetches the lists that wait for a fetch, at the context's position.
    private func fetchWaitingLists(_ calls: DaemonCalls) async throws {
        guard let session else { return }
        let group = MergedGroup(from: merged, to: merged, transactions: [], model: session.model)
        try await fetchAndApply(group, [:], [], Repositioning(context), calls)
    }

    /// Moves a pinned context to a position by applying or undoing the transactions in between.
    ///
    /// If these transactions are no longer available or contain a model, the context restarts: at
    /// the target if `isExact`, otherwise at the journal's end. In a different log or epoch, it
    /// always restarts at the end. A move does not depend on the pin's lease, because moving is the
    /// remedy for an expired lease.
    func move(
        to target: UInt64, isExact: Bool = false, attempt: Int = 1, _ calls: DaemonCalls
    ) async throws {
        guard merged != target, let now = connection.knownSession else {
            return try await fetchWaitingLists(calls)
        }
        try reads.checkAttempt(attempt)
        guard isSameLog(now) else {
            family.pin?.forget()
            return try await merger.restartAndMerge(in: now, calls)
        }
        let move = Repositioning(context, to: target, isExact: isExact, attempt: attempt)
        let start = merged
        let transactions = try await transactions(
            after: min(start, target), through: max(start, target), calls)
        participants.deliver()
        guard isStillValid(move) else { return try await resume(move, calls) }
        guard let session, let transactions, !transactions.contains(where: \.isModel) else {
            let now = connection.knownSession ?? now
            return try await merger.restartAndMerge(in: now, at: isExact ? target : nil, calls)
        }
        let group =
            target > start
            ? MergedGroup(
                from: start, to: target, transactions: transactions, model: session.model)
            : MergedGroup(
                undoing: transactions, from: start, to: target, model: session.model)
        try await evaluate(group, move.asking(queries), calls)
    }

    /// Returns whether the context and its verdict queries are unchanged since a move began.
    ///
    /// Reads at a pin do not change the position. In the meantime, however, a list may have been
    /// fetched with a different request, or a read may have loaded objects whose changes the group
    /// lacks.
    func isStillValid(_ move: Repositioning) -> Bool {
        guard merged == move.start, family.pin === move.pin else { return false }
        if move.target == move.start { return true }
        return connection.interests == move.interests
            && move.queries.map { $0 == queries } ?? true
    }

    /// Continues a move from the context's current position.
    func resume(_ move: Repositioning, _ calls: DaemonCalls) async throws {
        if move.target == move.start { return try await merger.merge(through: merged, calls) }
        guard family.pin != nil else { return try await merger.merge(through: move.target, calls) }
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
        var pages = HistoryPages(
            HistoryRequest(
                from: start, to: high, interests: connection.interests.sorted(),
                limit: core.limits.historyBatch))
        assert(start < high, "A move has transactions; a range to 0 would be the whole journal.")
        var all: [Transaction] = []
        while !pages.isComplete {
            let result = try await calls.answer(to: .history(pages.request))
            if case .failure(let error) = result, error.code == .historyExpired { return nil }
            all += try merger.decoded(try pages.accept(result))
        }
        return all
    }

    /// Requests verdicts for the lists that can't evaluate the group themselves, and continues the
    /// move.
    private func evaluate(
        _ group: MergedGroup, _ move: Repositioning, _ calls: DaemonCalls
    ) async throws {
        let lists = participants.lists
        guard !group.changes.isEmpty, lists.contains(where: { $0.needs(group) }) else {
            return try await fetchAndApply(group, [:], [], move, calls)
        }
        let queryingLists = lists.filter { $0.verdictItem != nil }
        let request = VerdictRequest(
            from: move.start, items: queryingLists.compactMap(\.verdictItem), at: group.to)
        let result = try await loggedAnswer(to: .verdicts(request), calls)
        guard isStillValid(move) else { return try await resume(move, calls) }
        switch result {
        case .failure(let error) where error.code == .historyExpired:
            for list in queryingLists { list.resetAfterGap() }
            try await fetchAndApply(group, [:], [], move, calls)
        case .failure(let error) where !error.isTransient:
            try await merger.evaluateOneByOne(group, move, calls)
        case .success(.verdicts(let answer))
        where answer.items.count == queryingLists.count && answer.position == group.to:
            try graph.check(answer.items.flatMap { $0.map(\.object) })
            try graph.checkRows(answer.related)
            let verdicts = zip(queryingLists, answer.items).map { (ObjectIdentifier($0), $1) }
            try await fetchAndApply(
                group, Dictionary(verdicts, uniquingKeysWith: { $1 }), answer.related, move, calls)
        case .success: throw TandemError.unexpectedAnswer("verdicts")
        case .failure(let error): throw error
        }
    }

    /// Fetches the rows missing from lists, one list after another, and applies the group.
    func fetchAndApply(
        _ group: MergedGroup, _ verdicts: [ObjectIdentifier: [Verdict]],
        _ related: [StoredObject], _ move: Repositioning, _ calls: DaemonCalls
    ) async throws {
        let isMove = group.to != move.start
        while true {
            guard isStillValid(move), isMove || move.pin != nil else {
                return try await resume(move, calls)
            }
            guard let (list, lacking) = merger.firstRefill(for: group, verdicts) else { break }
            let pin = isMove ? nil : move.pin
            var fetch = lacking
            (fetch.at, fetch.lease) = (group.to, pin?.lease ?? 0)
            try await pin?.acquire(at: move.start, calls)
            let result = try await loggedAnswer(to: .fetch(fetch), calls)
            guard merged == move.start, family.pin === move.pin else {
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
        if group.isBackward { family.move(to: group.to) }
        applier.apply(group, verdicts: verdicts, related: related)
    }

    /// The current verdict queries of the lists.
    var queries: [VerdictQuery] {
        participants.lists.map { VerdictQuery(list: ObjectIdentifier($0), item: $0.verdictItem) }
    }
}

extension ClientLimits {
    /// The time that a pin waits for a position after the journal's end, in seconds.
    fileprivate static let pinSeconds = 10
}
