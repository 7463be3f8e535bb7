import TandemModel
import TandemWire

extension DaemonCalls {
    /// Inserts all rows of a sequence, chunk after chunk.
    func insert(
        _ work: BatchInsertSender, _ next: () -> BatchValues?
    ) async throws -> BatchResult {
        while true {
            while work.wantsMore {
                if let row = next() { try work.add(row) } else { try work.end() }
            }
            if work.isDone { return try connection.result(work) }
            try await sendChunk(of: work)
        }
    }

    /// Sends the next chunk, or waits for the answer to the first chunk in flight.
    func sendChunk(of work: BatchInsertSender) async throws {
        guard work.canSend else { return try await receiveAnswer(of: work) }
        let model = try await session().model
        while work.lacksNumber {
            if let number = connection.nextNumber() {
                work.numbers.append(number)
            } else {
                try await leaseNumbers()
            }
        }
        let (message, problem) = try work.message(model)
        if let problem, message.rows.isEmpty {
            guard work.isQuiet else { return try await receiveAnswer(of: work) }
            if try work.removeRejected([problem]) { return }
            throw work.failure(problem.error, at: problem.row)
        }
        try work.reportNumbers(message.rows.count)
        work.didSend(message.rows.count, send(.insert(message)))
    }

    /// Waits for the answer to the first chunk in flight.
    ///
    /// If that chunk was not inserted completely, the daemon has not begun any chunk sent after it.
    /// The answers to those chunks are awaited and ignored. The batch continues without the
    /// rejected rows, or under the current model.
    private func receiveAnswer(of work: BatchInsertSender) async throws {
        guard let reply = work.dequeueReply() else { return }
        var refused: [BatchRefusal] = []
        do {
            let message = try await answer(of: reply).get()
            guard case .inserted(let answer) = message else {
                throw TandemError.unexpectedAnswer("a request")
            }
            refused = answer.refused
            try work.handle(answer)
        } catch let error as TandemError {
            await receiveAll(of: work)
            if try work.removeRejected(refused) { return }
            guard error.code == .schemaMismatch,
                work.modelAttempts + 1 < connection.limits.modelAttempts
            else { throw error }
            work.modelAttempts += 1
            // The daemon pushed its current model before this answer.
            _ = try await journalEnd()
            work.sendAgain()
        }
    }

    /// Awaits the answers to all chunks in flight, and ignores their errors.
    func receiveAll(of work: BatchInsertSender) async {
        while let reply = work.dequeueReply() {
            if case .success(.inserted(let answer)) = await answer(of: reply) {
                try? work.handle(answer)
            }
        }
    }
}

extension Connection {
    /// Returns the result of a batch insert so far.
    func result(_ work: BatchInsertSender) throws(TandemError) -> BatchResult {
        try batchResult(work.position ?? 0, work.count)
    }

    /// Returns the error, together with the result for the rows inserted before it.
    func failure(_ error: TandemError, of work: BatchInsertSender) -> TandemError {
        guard work.count > 0, let done = try? result(work) else { return error }
        return error.after(done)
    }

    /// The maximum size of a chunk's rows in bytes, derived from the daemon's limits.
    var chunkBytes: Int {
        min(WireLimits.frameBytes, state.withLock { $0.daemon.limits.messageBytes } / 2)
    }
}
