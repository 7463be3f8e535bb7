import TandemIO
import TandemModel
import TandemWire

/// Runs batches in the daemon, and merges their changes.
struct BatchOperations: ContextPart {
    let context: ManagedObjectContext

    /// Returns a batch that deletes or updates the objects that a request selects.
    func order(
        _ request: FetchDescriptor, _ values: BatchValues?, _ id: [UInt8]?, _ author: String?
    ) -> BatchDescription {
        BatchDescription(
            id: batchID(id), author: author, context: context.name, request: request, values: values
        )
    }

    private func batchID(_ id: [UInt8]?) -> [UInt8] {
        let id = id ?? ThisProcess.randomBytes(16)
        require(
            (1...WireLimits.batchIDBytes).contains(id.count),
            "The id of a batch must have 1 to \(WireLimits.batchIDBytes) bytes.")
        return id
    }

    func execute(
        _ order: BatchDescription, _ calls: DaemonCalls
    ) async throws -> BatchResult {
        let kind = order.values == nil ? "delete" : "update"
        return try await merging(kind, order.request.entity, calls) {
            try await calls.execute(order)
        }
    }

    func insert<Rows>(
        _ request: BatchInsertRequest<Rows>, _ id: [UInt8]?, _ author: String?,
        _ calls: DaemonCalls
    ) async throws -> BatchResult {
        let idBytes = batchID(id)
        return try await merging("insert", request.entity, calls) {
            let work = inserting(
                request.entity, request.policy, idBytes, mayBeRepeat: id != nil, author)
            var rows = request.rows.makeIterator()
            do {
                _ = try await calls.session()
                return try await calls.insert(work) { rows.next() }
            } catch let error as TandemError {
                throw connection.failure(error, of: work)
            }
        }
    }

    /// Creates the state of a batch insert that has not begun.
    private func inserting(
        _ entity: String, _ policy: MergePolicy, _ id: [UInt8], mayBeRepeat: Bool,
        _ author: String?, refusing: ((BatchRefusals) throws -> Void)? = nil,
        numbering: ((BatchNumbers) throws -> Void)? = nil
    ) -> BatchInsertSender {
        BatchInsertSender(
            entity: entity, policy: policy, id: id, mayBeRepeat: mayBeRepeat, author: author,
            context: context.name, chunkBytes: connection.chunkBytes, refusing: refusing,
            numbering: numbering)
    }

    /// Runs a batch, and merges its changes, including those of a batch that failed later.
    ///
    /// A batch is logged as one save with its total result, whatever the number of transactions.
    private func merging(
        _ kind: String, _ entity: String, _ calls: DaemonCalls,
        _ batch: () async throws -> BatchResult
    ) async throws -> BatchResult {
        func fields(_ result: BatchResult) -> [(String, String)] {
            [("batch", kind), ("entity", entity), ("objects", "\(result.count)")]
        }
        return try await logged(.save, fields) {
            _ = try await connectedSession(calls)
            let result: BatchResult
            do {
                result = try await batch()
            } catch let error as TandemError {
                if let done = error.done {
                    // A failure to merge is ignored: the original error reports what was done.
                    try? await merger.merge(through: done.position.number, calls)
                }
                throw error
            }
            try await merger.merge(through: result.position.number, calls)
            return result
        }
    }

    private func insert<Rows: AsyncSequence>(
        _ rows: Rows, _ work: BatchInsertSender
    ) async throws where Rows.Element == BatchValues {
        var rows = rows.makeAsyncIterator()
        while !work.isDone {
            while work.wantsMore {
                if let row = try await rows.next(isolation: #isolation) {
                    try work.add(row)
                } else {
                    try work.end()
                }
            }
            if !work.isDone { try await suspendingCalls.sendChunk(of: work) }
        }
    }

    /// Merges the inserted objects, and logs the batch like a save.
    @discardableResult
    private func finish(
        _ work: BatchInsertSender, _ error: TandemError?
    ) async throws -> BatchResult {
        let calls = suspendingCalls
        return try await merging("insert", work.entity, calls) {
            _ = try await calls.session()
            if let error { throw connection.failure(error, of: work) }
            return try connection.result(work)
        }
    }

    /// Inserts an object for each row as it arrives, and skips rejected rows.
    func insert<Rows>(
        _ request: AsyncBatchInsertRequest<Rows>, _ id: [UInt8]?, _ author: String?,
        refusing: ((BatchRefusals) throws -> Void)? = nil,
        numbering: ((BatchNumbers) throws -> Void)? = nil
    ) async throws -> BatchResult {
        let idBytes = batchID(id)
        _ = try await connectedSession(suspendingCalls)
        let work = inserting(
            request.entity, request.policy, idBytes, mayBeRepeat: id != nil, author,
            refusing: refusing, numbering: numbering)
        do {
            try await insert(request.rows, work)
        } catch {
            // Chunks that were in flight when the sequence threw an error are inserted as well.
            await suspendingCalls.receiveAll(of: work)
            // A failure to merge is ignored: the original error is reported.
            _ = try? await finish(work, error as? TandemError ?? TandemError(.usage, "\(error)"))
            guard let error = error as? TandemError else { throw error }
            throw connection.failure(error, of: work)
        }
        return try await finish(work, nil)
    }

    /// Returns the number of rows that the daemon has inserted for a batch id.
    func insertedRows(
        _ entity: String, _ policy: MergePolicy, _ id: [UInt8]
    ) async throws -> Int {
        _ = try await connectedSession(suspendingCalls)
        let work = inserting(entity, policy, batchID(id), mayBeRepeat: true, nil)
        while work.isUnsettled { try await suspendingCalls.sendChunk(of: work) }
        return work.knownRows
    }
}

extension ContextPart {
    var batchOperations: BatchOperations { BatchOperations(context: context) }
}
