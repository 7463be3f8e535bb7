import TandemModel
import TandemWire

/// Reads whose answers have the same position as the context.
struct PositionedReads: ContextPart {
    let context: ManagedObjectContext

    /// Sends a read, merges up to the position of its answer, and returns the answer.
    ///
    /// If merging moves the context past the answer, the read is repeated. The repeated read is
    /// piggybacked on the verdict request that merging needs. After `readAttempts` attempts,
    /// `timeout` is thrown. An answer at a position other than the context's is never returned. The
    /// caller has to use the answer before waiting for anything else. A chunked answer is returned
    /// when its head arrives, if there is a chunk reader.
    func read<Answer>(
        _ part: PiggybackedRead, into chunks: ChunkReader? = nil, _ calls: DaemonCalls,
        as extract: (PiggybackedAnswer) -> Answer?
    ) async throws -> Answer {
        graph.sweep()
        if let pin = family.pin { return try await readPinned(pin, part, calls, extract) }
        let generation = session?.generation
        // A merge past the answer would make it unusable.
        family.mergeDeferral.beginRead()
        defer { family.mergeDeferral.endRead() }
        let answer = try await calls.answer(to: part.message, into: chunks) {
            PiggybackedAnswer($0)
        }
        if let pin = family.pin {
            chunks?.discard()
            return try await readPinned(pin, part, calls, extract)
        }
        try await merger.merge(through: answer.position, calls)
        if merged == answer.position, session?.generation == generation {
            return try Self.read(answer, extract)
        }
        chunks?.discard()
        return try await readAlongsideVerdicts(part, calls, extract)
    }

    /// Repeats a read by piggybacking it on a verdict request, without verdict items if they were
    /// refused.
    ///
    /// Automatic merges are deferred meanwhile.
    private func readAlongsideVerdicts<Answer>(
        _ part: PiggybackedRead, _ calls: DaemonCalls,
        _ extract: (PiggybackedAnswer) -> Answer?
    ) async throws -> Answer {
        family.mergeDeferral.beginRepeatedRead()
        defer { family.mergeDeferral.endRepeatedRead() }
        var (attempt, isRefused) = (1, false)
        while true {
            attempt += 1
            try checkAttempt(attempt)
            let from = merged
            let generation = session?.generation
            // A list that waits for a fetch needs no verdict: the fetch may still be refused, and
            // another request may follow.
            let queryingLists = participants.lists.filter {
                !isRefused && !$0.isWaiting && $0.verdictItem != nil
            }
            let request = VerdictRequest(
                from: from, items: queryingLists.compactMap(\.verdictItem), alongside: part)
            let result = try await loggedAnswer(to: .verdicts(request), calls)
            if let pin = family.pin { return try await readPinned(pin, part, calls, extract) }
            if case .failure(let error) = result {
                if error.code == .historyExpired, let now = connection.knownSession {
                    try await merger.restartAndMerge(in: now, calls)
                } else if !error.isTransient, !queryingLists.isEmpty {
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
                try await merge(answer, queryingLists, calls)
            } else {
                try await merger.merge(through: answer.position, calls)
            }
            if merged == found.position, session?.generation == generation {
                return try Self.read(found, extract)
            }
        }
    }

    /// Merges up to the position of verdicts that were requested before any transaction was
    /// collected.
    private func merge(
        _ answer: Verdicts, _ queryingLists: [any ListParticipant], _ calls: DaemonCalls
    ) async throws {
        guard let session, answer.position > merged else { return }
        let nothing = MergedGroup(
            from: merged, to: merged, transactions: [], model: session.model)
        try await merger.merge(nothing, answer, queryingLists, calls)
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
            "the read or move did not complete in \(core.limits.readAttempts) attempts, because the "
                + "context merged later saves before each answer; try again")
    }

    // MARK: At a pin

    /// Reads at the position of the pin.
    func readPinned<Answer>(
        _ pin: Pin, _ part: PiggybackedRead, _ calls: DaemonCalls,
        _ extract: (PiggybackedAnswer) -> Answer?
    ) async throws -> Answer {
        var (pin, attempt) = (pin, 1)
        while true {
            try checkAttempt(attempt)
            let start = merged
            let answer = try await answer(to: part, at: start, pin, calls)
            if merged == start, family.pin === pin {
                // The position is reached only after all lists are fetched, including those of a
                // move in progress.
                try await merger.merge(through: start, calls)
                if merged == start, family.pin === pin {
                    return try Self.read(answer, extract)
                }
            }
            guard let now = family.pin else {
                return try await read(part, calls, as: extract)
            }
            (pin, attempt) = (now, attempt + 1)
        }
    }

    private func answer(
        to part: PiggybackedRead, at position: UInt64, _ pin: Pin, _ calls: DaemonCalls
    ) async throws -> PiggybackedAnswer {
        do {
            try await pin.acquire(at: position, calls)
            let answer = try await calls.answer(to: part.message(at: position, pin.lease)) {
                PiggybackedAnswer($0)
            }
            guard let now = connection.knownSession, pins.isSameLog(now) else {
                throw TandemError(.historyExpired, "the store was replaced or restored")
            }
            return answer
        } catch let error as TandemError {
            throw error.atPin
        }
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
    /// Creates an answer from a message, or returns nil if the message is not the answer to such a
    /// read.
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

extension PiggybackedRead {
    /// Returns the request for this read alone, at an earlier position.
    fileprivate func message(at position: UInt64, _ lease: UInt32) -> ClientMessage {
        switch self {
        case .fetch(var fetch):
            (fetch.at, fetch.lease) = (position, lease)
            return .fetch(fetch)
        case .read(var read):
            (read.at, read.lease) = (position, lease)
            return .read(read)
        }
    }
}

extension TandemError {
    /// This error as thrown by a read at a pin, with a remedy.
    var atPin: TandemError {
        switch code {
        case .historyExpired, .schemaMismatch:
            TandemError(
                .historyExpired,
                "\(message); pin the context at a newer position, or unpin it")
        default: self
        }
    }
}
