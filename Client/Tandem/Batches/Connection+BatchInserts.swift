import TandemModel
import TandemWire

extension Connection {
    /// Returns an operation that inserts the rows of a sequence, chunk after chunk, to its end.
    func insertStep(
        _ work: BatchInsertSender, _ next: @escaping () -> BatchValues?
    ) throws -> Step<BatchResult> {
        while work.wantsMore {
            if let row = next() { try work.add(row) } else { try work.end() }
        }
        if work.isDone { return .done(try result(work)) }
        return try partStep(work).then { try self.insertStep(work, next) }
    }

    /// Returns the result of a batch insert up to now.
    func result(_ work: BatchInsertSender) throws(TandemError) -> BatchResult {
        try batchResult(work.position ?? 0, work.count)
    }

    /// Returns an operation that sends the next chunk or waits for the answer to the first in
    /// flight.
    func partStep(_ work: BatchInsertSender) -> Step<Void> {
        work.canSend ? sendStep(work) : .answerStep(work, self)
    }

    /// Sends the next chunk, or asks for the progress of an earlier attempt.
    private func sendStep(_ work: BatchInsertSender) -> Step<Void> {
        .connect { session in
            while work.lacksNumber {
                guard let number = self.nextNumber() else { return self.leaseStep(work) }
                work.numbers.append(number)
            }
            let (message, problem) = try work.message(session.model)
            if let problem, message.rows.isEmpty {
                guard work.isQuiet else { return .answerStep(work, self) }
                if try work.leaveOut([problem]) { return .done(()) }
                throw work.failure(problem.error, at: problem.row)
            }
            try work.reportNumbers(message.rows.count)
            return .send(.insert(message)) { reply in
                work.noteSent(message.rows.count, reply)
                return .done(())
            }
        }
    }

    /// Awaits the answers to all chunks in flight, and ignores their errors.
    func quietStep(_ work: BatchInsertSender) -> Step<Void> {
        guard let reply = work.takeReply() else { return .done(()) }
        return .await(reply) { result in
            if case .success(.inserted(let answer)) = result { try? work.handle(answer) }
            return self.quietStep(work)
        }
    }

    private func leaseStep(_ work: BatchInsertSender) -> Step<Void> {
        .ask(.lease(count: leaseCount)) { result in
            _ = try result.get()
            return self.sendStep(work)
        }
    }

    /// Returns the error with the result of the rows inserted before.
    func failure(_ error: TandemError, of work: BatchInsertSender) -> TandemError {
        guard work.count > 0, let done = try? result(work) else { return error }
        return error.after(done)
    }

    /// The maximum size of a chunk's rows in bytes, derived from the daemon's limits.
    var partBytes: Int {
        min(WireLimits.frameBytes, state.withLock { $0.daemonLimits.messageBytes } / 2)
    }
}

extension Step<Void> {
    /// Awaits the answer to the first chunk in flight.
    ///
    /// If that chunk was not inserted completely, the chunks sent after it can't have begun. Their
    /// answers are awaited and ignored.
    fileprivate static func answerStep(_ work: BatchInsertSender, _ connection: Connection) -> Step
    {
        guard let reply = work.takeReply() else { return .done(()) }
        return .await(reply) { result in
            var refused: [BatchRefusal] = []
            do {
                guard case .inserted(let answer) = try result.get() else {
                    throw unexpected(try result.get())
                }
                refused = answer.refused
                try work.handle(answer)
                return .done(())
            } catch let error as TandemError {
                return try connection.quietStep(work).then {
                    try goOnStep(work, behind: error, without: refused, connection)
                }
            }
        }
    }

    /// Continues after a chunk that was not inserted completely.
    ///
    /// The batch continues without the rejected rows, or under the current model.
    private static func goOnStep(
        _ work: BatchInsertSender, behind error: TandemError, without refused: [BatchRefusal],
        _ connection: Connection
    ) throws -> Step {
        if try work.leaveOut(refused) { return .done(()) }
        guard error.code == .schemaMismatch,
            work.modelAttempts + 1 < connection.limits.modelAttempts
        else { throw error }
        work.modelAttempts += 1
        return connection.modelStep {
            work.sendAgain()
            return .done(())
        }
    }
}
