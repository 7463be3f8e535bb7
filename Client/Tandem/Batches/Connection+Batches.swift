import TandemModel
import TandemQuery
import TandemWire

/// A batch delete or update, described by names, so that it is valid under every model.
struct BatchDescription {
    let id: [UInt8]
    let author: String?
    let context: String
    let request: FetchDescriptor
    /// The values to set; nil deletes the objects.
    let values: BatchValues?

    /// Returns the message for a model.
    func message(_ model: CompiledModel) throws(TandemError) -> Batch {
        guard let entity = model.entity(named: request.entity) else {
            throw model.unknownEntity(request.entity)
        }
        let resolved = try values?.resolved(in: entity, model)
        guard resolved?.links.isEmpty ?? true else {
            throw TandemError(
                .usage,
                "a batch cannot set a to-many relationship; set its inverse, or save objects"
            )
        }
        return Batch(
            batchID: id, contentHash: contentHash, author: author, context: context,
            modelVersion: model.version, request: request,
            work: resolved.map { .update($0.values) } ?? .delete)
    }

    private var contentHash: StableHash {
        var writer = ByteWriter()
        request.encode(into: &writer)
        for (name, value) in (values?.attributes ?? [:]).sorted(by: { $0.key < $1.key }) {
            writer.string(name)
            value.encode(into: &writer)
        }
        for (name, ids) in (values?.objects ?? [:]).sorted(by: { $0.key < $1.key }) {
            writer.string(name)
            for id in ids { writer.string(id.description) }
        }
        writer.bool(values == nil)
        return StableHash(writer.bytes)
    }
}

extension DaemonCalls {
    /// Sends a batch to the daemon, and returns its result.
    ///
    /// The message is built and sent again if the model changed before it arrived.
    func execute(_ order: BatchDescription) async throws -> BatchResult {
        var attempt = 1
        while true {
            let message = try order.message(try await session().model)
            let answer: BatchAnswer
            switch try await self.answer(to: .batch(message)) {
            case .success(.batched(let batched)): answer = batched
            case .success: throw TandemError.unexpectedAnswer("a request")
            case .failure(let error):
                answer = BatchAnswer(position: 0, count: 0, failure: error)
            }
            // The retry resumes under the same id, even if part of the batch is done.
            guard answer.failure?.code == .schemaMismatch, attempt < connection.limits.modelAttempts
            else { return try connection.result(answer) }
            // The daemon pushed its current model before this answer.
            _ = try await journalEnd()
            attempt += 1
        }
    }
}

extension Connection {
    fileprivate func result(_ answer: BatchAnswer) throws(TandemError) -> BatchResult {
        if let failure = answer.failure, answer.count == 0 { throw failure }
        let result = try batchResult(answer.position, Int(clamping: answer.count))
        if let failure = answer.failure { throw failure.after(result) }
        return result
    }

    /// Returns a result with `count` objects, up to a position in this log.
    func batchResult(_ number: UInt64, _ count: Int) throws(TandemError) -> BatchResult {
        guard let session = knownSession else {
            throw TandemError(.disconnected, "there is no connection to the daemon; try again")
        }
        return BatchResult(position: session.position(number), count: count)
    }
}

extension TandemError {
    /// Returns the error of a batch, with the result of the part that succeeded.
    func after(_ done: BatchResult) -> TandemError {
        guard done.count > 0 else { return self }
        var error = self
        error.done = done
        error.message +=
            "; \(done.count) \(done.count == 1 ? "object was" : "objects were") processed before the error, up to position \(done.position.number)"
        return error
    }
}
