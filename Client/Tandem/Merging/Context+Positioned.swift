import TandemModel
import TandemWire

/// Reads whose answers have the same position as the context.
extension ManagedObjectContext {
    /// Reads, merges up to the position of the answer, and returns the answer there.
    ///
    /// If merging moves the context past the answer, the read is repeated. The repeated read is
    /// piggybacked on the verdict request that merging needs. After `readAttempts` attempts
    /// `timeout` is thrown. An answer at a position other than the context's is never returned. The
    /// caller has to use the answer before waiting for anything else. A chunked answer is returned
    /// when its head arrives, if there is a chunk reader.
    func read<Answer>(
        _ part: PiggybackedRead, into parts: ChunkReader? = nil, _ calls: DaemonCalls,
        as extract: (PiggybackedAnswer) -> Answer?
    ) async throws -> Answer {
        sweep()
        if let pin = familyState.pin { return try await readPinned(pin, part, calls, extract) }
        let generation = session?.generation
        // A merge past the answer would make it unusable.
        readsAwaited += 1
        defer {
            readsAwaited -= 1
            mergeHeldPushes()
        }
        let answer = try await calls.answer(to: part.message, into: parts) { PiggybackedAnswer($0) }
        if let pin = familyState.pin {
            parts?.discard()
            return try await readPinned(pin, part, calls, extract)
        }
        try await merge(through: answer.position, calls)
        if merged == answer.position, session?.generation == generation {
            return try Self.read(answer, extract)
        }
        parts?.discard()
        return try await readAlongsideVerdicts(part, calls, extract)
    }

    /// Schedules the deferred merge if nothing defers it any more.
    private func mergeHeldPushes() {
        guard readsHeld == 0, readsAwaited == 0, hasHeldPushes else { return }
        hasHeldPushes = false
        link.signal()
    }

    /// Repeats a read, piggybacked on a verdict request; without verdict items if these were
    /// refused.
    ///
    /// Prevents automatic merges meanwhile.
    private func readAlongsideVerdicts<Answer>(
        _ part: PiggybackedRead, _ calls: DaemonCalls,
        _ extract: (PiggybackedAnswer) -> Answer?
    ) async throws -> Answer {
        readsHeld += 1
        defer {
            readsHeld -= 1
            mergeHeldPushes()
        }
        var (attempt, isRefused) = (1, false)
        while true {
            attempt += 1
            try checkAttempt(attempt)
            let from = merged
            let generation = session?.generation
            // A list that waits for a fetch needs no verdict: the fetch may still be refused, and
            // another request may follow.
            let askers = lists.filter {
                !isRefused && !$0.isWaiting && $0.verdictItem != nil
            }
            let request = VerdictRequest(
                from: from, items: askers.compactMap(\.verdictItem), alongside: part)
            let result = try await tracedAnswer(to: .verdicts(request), calls)
            if let pin = familyState.pin { return try await readPinned(pin, part, calls, extract) }
            if case .failure(let error) = result {
                if error.code == .historyExpired, let now = connection.knownSession {
                    try await restartAndMerge(in: now, calls)
                } else if !error.isTransient, !askers.isEmpty {
                    isRefused = true
                } else {
                    throw error
                }
                continue
            }
            guard case .verdicts(let answer) = try result.get(), let found = answer.alongside else {
                throw TandemError.unexpectedAnswer("verdicts")
            }
            if merged == from, session?.generation == generation, !isRefused {
                try await merge(answer, askers, calls)
            } else {
                try await merge(through: answer.position, calls)
            }
            if merged == found.position, session?.generation == generation {
                return try Self.read(found, extract)
            }
        }
    }

    /// Merges up to the position of verdicts that were requested before any transaction was
    /// collected.
    private func merge(
        _ answer: Verdicts, _ askers: [any ListParticipant], _ calls: DaemonCalls
    ) async throws {
        guard let session, answer.position > merged else { return }
        let nothing = MergedGroup(
            from: merged, to: merged, transactions: [], model: session.model)
        try await merge(nothing, answer, askers, calls)
    }

    static func read<Answer>(
        _ answer: PiggybackedAnswer, _ read: (PiggybackedAnswer) -> Answer?
    ) throws -> Answer {
        guard let found = read(answer) else {
            throw TandemError.unexpectedAnswer("a read")
        }
        return found
    }

    /// Throws `timeout` if the number of attempts exceeds the limit.
    func checkAttempt(_ attempt: Int) throws(TandemError) {
        guard attempt > core.limits.readAttempts else { return }
        throw TandemError(
            .timeout,
            "the context moved to another position \(core.limits.readAttempts) times during the read; "
                + "read again")
    }
}

extension PiggybackedRead {
    /// The request for this read alone.
    var message: ClientMessage {
        switch self {
        case .fetch(let fetch): .fetch(fetch)
        case .read(let read): .read(read)
        }
    }
}

extension PiggybackedAnswer {
    /// Creates an answer from a message, or returns nil if the message answers no such read.
    init?(_ message: DaemonMessage) {
        switch message {
        case .fetched(let answer): self = .fetched(answer)
        case .objects(let answer): self = .objects(answer)
        default: return nil
        }
    }

    fileprivate var position: UInt64 {
        switch self {
        case .fetched(let answer): answer.position
        case .objects(let answer): answer.position
        }
    }
}
