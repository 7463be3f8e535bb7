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

    /// Has the daemon insert the next part of a batch, or say how far it came; made again where the model is changed before it
    /// arrives.
    func partStep(_ work: BatchInserting, attempt: Int = 1) -> Step<Void> {
        .connect { session in
            while work.lacksNumber {
                guard let number = self.nextNumber() else { return self.leaseStep(work, attempt) }
                work.numbers.append(number)
            }
            let (message, problem) = try work.message(session.model)
            if let problem, message.rows.isEmpty { throw problem }
            return .ask(.insert(message)) { result in
                do {
                    guard case .inserted(let answer) = try result.get() else {
                        throw Step<Void>.unexpected(try result.get())
                    }
                    try work.settle(answer)
                } catch let error as TandemError {
                    guard error.code == .schemaMismatch, attempt < self.limits.modelAttempts
                    else { throw error }
                    return self.modelStep { self.partStep(work, attempt: attempt + 1) }
                }
                if let problem { throw problem }
                return .done(())
            }
        }
    }

    private func leaseStep(_ work: BatchInserting, _ attempt: Int) -> Step<Void> {
        .ask(.lease(count: leaseCount)) { result in
            _ = try result.get()
            return self.partStep(work, attempt: attempt)
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
