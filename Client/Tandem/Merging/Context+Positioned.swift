import TandemModel
import TandemWire

/// Reads whose answer has the same position as the context.
extension ManagedObjectContext {
    /// Reads, merges up to the position of the answer, and passes the answer to `use` there.
    ///
    /// If merging moved the context past the answer, the read is repeated. The repeated read is
    /// piggybacked on the verdict request that merging needs. After `readAttempts` attempts
    /// `timeout` is thrown. An answer at another position than the context's is never used. A
    /// chunked answer is used when its head arrives, if there is a chunk reader.
    func positionedStep<Answer, Output>(
        _ part: PiggybackedRead, into parts: ChunkReader? = nil,
        _ read: @escaping (PiggybackedAnswer) -> Answer?,
        use: @escaping (Answer) throws -> Output
    ) throws -> Step<Output> {
        sweep()
        if let pin = familyState.pin { return try pinnedReadStep(pin, part, read, use: use) }
        let generation = session?.generation
        let runningRead = RunningReadToken(self)
        return .ask(part.message, into: parts, { PiggybackedAnswer($0) }) { answer in
            if let pin = self.familyState.pin {
                runningRead.end()
                parts?.discard()
                return try self.pinnedReadStep(pin, part, read, use: use)
            }
            return try self.placedStep(
                answer, to: part, into: parts, from: generation, read
            ) {
                runningRead.end()
                return try use($0)
            }
        }
    }

    /// Merges an unpinned context up to the position of an answer, and passes the answer to `use`
    /// there.
    ///
    /// `generation` is the generation of the session when the request was sent.
    func placedStep<Answer, Output>(
        _ answer: PiggybackedAnswer, to part: PiggybackedRead, into parts: ChunkReader? = nil,
        from generation: Int?,
        _ read: @escaping (PiggybackedAnswer) -> Answer?,
        use: @escaping (Answer) throws -> Output
    ) throws -> Step<Output> {
        try mergeStep(through: answer.position).then { _ in
            if self.merged == answer.position, self.session?.generation == generation {
                return .done(try use(try Self.read(answer, read)))
            }
            parts?.discard()
            return try self.holdingStep(
                try self.againStep(part, read, attempt: 2, use: use))
        }
    }

    /// Prevents automatic merges until a step is done.
    private func holdingStep<Output>(_ step: Step<Output>) throws -> Step<Output> {
        readsHeld += 1
        return try step.recover { error in
            self.release()
            throw error
        }.then { output in
            self.release()
            return .done(output)
        }
    }

    private func release() {
        readsHeld -= 1
        tellHeldPushes()
    }

    /// Schedules the deferred merge if nothing defers it any more.
    fileprivate func tellHeldPushes() {
        guard readsHeld == 0, readsAwaited == 0, hasHeldPushes else { return }
        hasHeldPushes = false
        link.signal()
    }

    /// Repeats a read, piggybacked on a verdict request; without verdict items if these were
    /// refused.
    private func againStep<Answer, Output>(
        _ part: PiggybackedRead, _ read: @escaping (PiggybackedAnswer) -> Answer?, attempt: Int,
        isRefused: Bool = false, use: @escaping (Answer) throws -> Output
    ) throws -> Step<Output> {
        try checkAttempt(attempt)
        let from = merged
        let generation = session?.generation
        // A list that waits for a fetch needs no verdict: the fetch may still be refused, and
        // another request may follow.
        let askers = participants.compactMap(\.value).filter {
            !isRefused && !$0.isWaiting && $0.verdictItem != nil
        }
        let request = VerdictRequest(
            from: from, items: askers.compactMap(\.verdictItem), alongside: part)
        return tracedAsk(.verdicts(request)) { result in
            if let pin = self.familyState.pin {
                return try self.pinnedReadStep(pin, part, read, use: use)
            }
            let merging: Step<Void>
            var found: PiggybackedAnswer?
            if case .failure(let error) = result, error.code == .historyExpired,
                let now = self.connection.knownSession
            {
                merging = try self.restartStep(in: now)
            } else if case .failure(let error) = result, !error.isPassing, !askers.isEmpty {
                return try self.againStep(
                    part, read, attempt: attempt + 1, isRefused: true, use: use)
            } else if case .verdicts(let answer) = try result.get(), let part = answer.alongside {
                found = part
                let isHere = self.merged == from && self.session?.generation == generation
                merging =
                    isHere && !isRefused
                    ? try self.judgedStep(answer, askers)
                    : try self.mergeStep(through: answer.position)
            } else {
                throw TandemError.unexpectedAnswer("verdicts")
            }
            return try merging.then { _ in
                if let found, self.merged == found.position,
                    self.session?.generation == generation
                {
                    return .done(try use(try Self.read(found, read)))
                }
                return try self.againStep(
                    part, read, attempt: attempt + 1, isRefused: isRefused, use: use)
            }
        }
    }

    /// Merges up to the position of verdicts that were requested before any transaction was
    /// collected.
    private func judgedStep(
        _ answer: Verdicts, _ askers: [any MergeParticipant]
    ) throws -> Step<Void> {
        guard let session, answer.position > merged else { return .done(()) }
        let nothing = MergedGroup(
            from: merged, to: merged, transactions: [], model: session.model)
        return try judged(nothing, answer, askers)
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

/// Keeps a context from merging past a chunked answer while a read is running.
///
/// The read ends with ``end()``, or when the token is released. The token is bound to the context's
/// actor, like the steps that hold it.
final class RunningReadToken {
    private var context: ManagedObjectContext?

    init(_ context: ManagedObjectContext) {
        self.context = context
        context.readsAwaited += 1
    }

    deinit { end() }

    /// Ends the read; does nothing if it has ended.
    func end() {
        guard let context else { return }
        self.context = nil
        context.readsAwaited -= 1
        context.tellHeldPushes()
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
