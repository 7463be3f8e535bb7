import TandemIO
public import TandemModel
import TandemWire

extension ManagedObjectContext {
    /// Deletes all objects of a request in the daemon; blocks until the deletions are merged here.
    ///
    /// Pending edits are ignored; save or roll back first. If the connection is lost, the batch
    /// resumes on the next one.
    /// - Parameters:
    ///   - request: The request that selects the objects.
    ///   - id: An id of 1 to 56 bytes under which the batch may be repeated, even by another
    ///     process.
    ///     Repeating a finished batch returns its result; repeating an unfinished one resumes it.
    ///   - author: The author to record instead of the container's.
    /// - Returns: The position of the last transaction, and the number of objects.
    /// - Throws: The errors of saves and fetches. Changes made before the error are merged, and the
    ///   error's `done` reports them.
    @discardableResult
    public func execute(
        _ request: BatchDeleteRequest, id: [UInt8]? = nil, author: String? = nil
    ) throws -> BatchResult {
        try blocking { try await execute(order(request.fetchRequest, nil, id, author), $0) }
    }

    /// Deletes all objects of a request in the daemon, without blocking the actor.
    @discardableResult
    public func execute(
        _ request: BatchDeleteRequest, id: [UInt8]? = nil, author: String? = nil
    ) async throws -> BatchResult {
        try await execute(order(request.fetchRequest, nil, id, author), suspendingCalls)
    }

    /// Sets values in all objects of a request in the daemon; blocks until they are merged here.
    ///
    /// Parameters, result and errors are those of a batch delete.
    @discardableResult
    public func execute(
        _ request: BatchUpdateRequest, id: [UInt8]? = nil, author: String? = nil
    ) throws -> BatchResult {
        try blocking {
            try await execute(order(request.fetchRequest, request.values, id, author), $0)
        }
    }

    /// Sets values in all objects of a request in the daemon, without blocking the actor.
    @discardableResult
    public func execute(
        _ request: BatchUpdateRequest, id: [UInt8]? = nil, author: String? = nil
    ) async throws -> BatchResult {
        try await execute(
            order(request.fetchRequest, request.values, id, author), suspendingCalls)
    }

    /// Inserts an object for each row, in the daemon; blocks until the objects are merged here.
    ///
    /// Repeating the insert under the same `id` with the same rows inserts the missing rows, even
    /// from another process. With different rows it throws `usage`. If the connection is lost, the
    /// batch resumes on the next one.
    /// - Returns: The position of the last transaction, and the number of rows. A row counts as
    ///   well if an existing object already has its unique values.
    /// - Throws: The errors of a save, for the first row that can't be inserted; the error's `row`
    ///   is its index. All rows before it are inserted and merged; the error's `done` reports how
    ///   many.
    @discardableResult
    public func execute<Rows>(
        _ request: BatchInsertRequest<Rows>, id: [UInt8]? = nil, author: String? = nil
    ) throws -> BatchResult {
        try blocking { try await insert(request, id, author, $0) }
    }

    /// Inserts an object for each row, without blocking the actor.
    @discardableResult
    public func execute<Rows>(
        _ request: BatchInsertRequest<Rows>, id: [UInt8]? = nil, author: String? = nil
    ) async throws -> BatchResult {
        try await insert(request, id, author, suspendingCalls)
    }

    // MARK: Operations

    private func order(
        _ request: FetchRequest, _ values: BatchValues?, _ id: [UInt8]?, _ author: String?
    ) -> BatchDescription {
        BatchDescription(
            id: batchID(id), author: author, context: name, request: request, values: values)
    }

    func batchID(_ id: [UInt8]?) -> [UInt8] {
        let id = id ?? ThisProcess.randomBytes(16)
        precondition(
            (1...WireLimits.batchIDBytes).contains(id.count),
            "The id of a batch must have 1 to \(WireLimits.batchIDBytes) bytes.")
        return id
    }

    private func execute(
        _ order: BatchDescription, _ calls: DaemonCalls
    ) async throws -> BatchResult {
        let kind = order.values == nil ? "delete" : "update"
        return try await merging(kind, order.request.entity, calls) {
            try await calls.execute(order)
        }
    }

    private func insert<Rows>(
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

    /// Creates the state of a batch insert that has yet to begin.
    func inserting(
        _ entity: String, _ policy: MergePolicy, _ id: [UInt8], mayBeRepeat: Bool,
        _ author: String?, refusing: ((BatchRefusals) throws -> Void)? = nil,
        numbering: ((BatchNumbers) throws -> Void)? = nil
    ) -> BatchInsertSender {
        BatchInsertSender(
            entity: entity, policy: policy, id: id, mayBeRepeat: mayBeRepeat, author: author,
            context: name, chunkBytes: connection.chunkBytes, refusing: refusing,
            numbering: numbering)
    }

    /// Runs a batch, and merges its changes, including those of a batch that failed later.
    ///
    /// A batch is traced as one save with its total result, whatever the number of transactions.
    func merging(
        _ kind: String, _ entity: String, _ calls: DaemonCalls,
        _ batch: () async throws -> BatchResult
    ) async throws -> BatchResult {
        func fields(_ result: BatchResult) -> [(String, String)] {
            [("batch", kind), ("entity", entity), ("objects", "\(result.count)")]
        }
        return try await traced(.save, fields) {
            _ = try await connectedSession(calls)
            let result: BatchResult
            do {
                result = try await batch()
            } catch let error as TandemError {
                if let done = error.done {
                    // A failure to merge is ignored: the original error reports what was done.
                    try? await merge(through: done.position.number, calls)
                }
                throw error
            }
            try await merge(through: result.position.number, calls)
            return result
        }
    }
}
