import TandemModel
import TandemWire

extension Connection {
    /// Inserts the rows of a sequence, part after part, until there are no more.
    func insertStep(
        _ work: BatchInserting, _ next: @escaping () -> BatchValues?
    ) throws -> Step<BatchResult> {
        while work.wantsMore {
            if let row = next() { try work.add(row) } else { try work.end() }
        }
        if work.isDone { return .done(try result(work)) }
        return try partStep(work).then { try self.insertStep(work, next) }
    }

    /// What a batch insert came to.
    func result(_ work: BatchInserting) throws(TandemError) -> BatchResult {
        try batchResult(work.position ?? 0, work.count)
    }

    /// Goes on with a batch insert: sends the next part, or waits for the answer to the first of those that are under way.
    func partStep(_ work: BatchInserting) -> Step<Void> {
        work.canSend ? sendStep(work) : .answerStep(work, self)
    }

    /// Has the daemon insert the next part of a batch, or say how far it came.
    private func sendStep(_ work: BatchInserting) -> Step<Void> {
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

    /// Takes the answers to all parts under way; what is wrong with them is no longer of interest.
    func quietStep(_ work: BatchInserting) -> Step<Void> {
        guard let reply = work.takeReply() else { return .done(()) }
        return .await(reply) { result in
            if case .success(.inserted(let answer)) = result { try? work.settle(answer) }
            return self.quietStep(work)
        }
    }

    private func leaseStep(_ work: BatchInserting) -> Step<Void> {
        .ask(.lease(count: leaseCount)) { result in
            _ = try result.get()
            return self.sendStep(work)
        }
    }

    /// An error of a batch insert, with what was inserted before.
    func failure(_ error: TandemError, of work: BatchInserting) -> TandemError {
        guard work.count > 0, let done = try? result(work) else { return error }
        return error.after(done)
    }

    /// The most bytes that the rows of a part may take, as the daemon has it.
    var partBytes: Int {
        min(WireLimits.frameBytes, state.withLock { $0.daemonLimits.messageBytes } / 2)
    }
}

extension Step<Void> {
    /// Takes the answer to the first part under way.
    ///
    /// Where that did not come to its end, what was sent behind it can't have begun: its answers are waited for and say nothing.
    fileprivate static func answerStep(_ work: BatchInserting, _ connection: Connection) -> Step {
        guard let reply = work.takeReply() else { return .done(()) }
        return .await(reply) { result in
            var refused: [BatchRefusal] = []
            do {
                guard case .inserted(let answer) = try result.get() else {
                    throw unexpected(try result.get())
                }
                refused = answer.refused
                try work.settle(answer)
                return .done(())
            } catch let error as TandemError {
                return try connection.quietStep(work).then {
                    try goOnStep(work, behind: error, without: refused, connection)
                }
            }
        }
    }

    /// Goes on behind a part that did not come to its end: without the rows that are to be left out, or under the model of now.
    private static func goOnStep(
        _ work: BatchInserting, behind error: TandemError, without refused: [BatchRefusal],
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
