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
    ///   - id: An id under which the batch may be repeated, also by another process; 1 to 56 bytes.
    ///     Repeating a finished batch returns its result; repeating an unfinished one resumes it.
    ///   - author: The author to record instead of the container's.
    /// - Returns: The position of the last transaction, and the number of objects.
    /// - Throws: The errors of saves and fetches. Changes made before the error are merged, and the
    ///   error's `done` reports them.
    @discardableResult
    public func execute(
        _ request: BatchDeleteRequest, id: [UInt8]? = nil, author: String? = nil
    ) throws -> BatchResult {
        try executeStep(order(request.fetchRequest, nil, id, author)).run(on: connection)
    }

    /// Deletes all objects of a request in the daemon, without blocking the actor.
    @discardableResult
    public nonisolated(nonsending) func execute(
        _ request: BatchDeleteRequest, id: [UInt8]? = nil, author: String? = nil
    ) async throws -> BatchResult {
        try await executeStep(order(request.fetchRequest, nil, id, author)).runAsync(on: connection)
    }

    /// Sets values in all objects of a request in the daemon; blocks until they are merged here.
    ///
    /// Parameters, result and errors are those of a batch delete.
    @discardableResult
    public func execute(
        _ request: BatchUpdateRequest, id: [UInt8]? = nil, author: String? = nil
    ) throws -> BatchResult {
        try executeStep(order(request.fetchRequest, request.values, id, author))
            .run(on: connection)
    }

    /// Sets values in all objects of a request in the daemon, without blocking the actor.
    @discardableResult
    public nonisolated(nonsending) func execute(
        _ request: BatchUpdateRequest, id: [UInt8]? = nil, author: String? = nil
    ) async throws -> BatchResult {
        try await executeStep(order(request.fetchRequest, request.values, id, author))
            .runAsync(on: connection)
    }

    /// Inserts an object for each row, in the daemon; blocks until the objects are merged here.
    ///
    /// A repeat under the same `id` with the same rows inserts the missing rows, also from another
    /// process. With other rows it throws `usage`. If the connection is lost, the batch resumes on
    /// the next one.
    /// - Returns: The position of the last transaction, and the number of rows. A row counts as
    ///   well if an existing object already has its unique values.
    /// - Throws: The errors of a save, for the first row that can't be inserted; the error's `row`
    ///   is its index. All rows before it are inserted and merged; the error's `done` reports how
    ///   many.
    @discardableResult
    public func execute<Rows>(
        _ request: BatchInsertRequest<Rows>, id: [UInt8]? = nil, author: String? = nil
    ) throws -> BatchResult {
        try insertStep(request, id, author).run(on: connection)
    }

    /// Inserts an object for each row, without blocking the actor.
    @discardableResult
    public nonisolated(nonsending) func execute<Rows>(
        _ request: BatchInsertRequest<Rows>, id: [UInt8]? = nil, author: String? = nil
    ) async throws -> BatchResult {
        try await insertStep(request, id, author).runAsync(on: connection)
    }

    // MARK: Steps

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

    private func executeStep(_ order: BatchDescription) throws -> Step<BatchResult> {
        let kind = order.values == nil ? "delete" : "update"
        return try tracedBatch(kind, order.request.entity) {
            try self.mergedStep { self.connection.batchStep(order) }
        }
    }

    private func insertStep<Rows>(
        _ request: BatchInsertRequest<Rows>, _ id: [UInt8]?, _ author: String?
    ) throws -> Step<BatchResult> {
        let (connection, idBytes) = (connection, batchID(id))
        return try tracedBatch("insert", request.entity) {
            try self.mergedStep {
                let work = self.inserting(
                    request.entity, request.policy, idBytes, mayBeRepeat: id != nil, author)
                var rows = request.rows.makeIterator()
                return .connect { _ in try connection.insertStep(work) { rows.next() } }
                    .recover { throw connection.failure($0, of: work) }
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
            context: name, partBytes: connection.partBytes, refusing: refusing,
            numbering: numbering)
    }

    /// Traces a batch as one save with its total result, whatever the number of transactions.
    func tracedBatch(
        _ kind: String, _ entity: String, _ step: () throws -> Step<BatchResult>
    ) throws -> Step<BatchResult> {
        guard let debug, debug.traces(.save) else { return try step() }
        return try told(
            .save, debug,
            { result in
                [("batch", kind), ("entity", entity), ("objects", "\(result.count)")]
            }, step)
    }

    /// Merges the changes of a batch, including those of a batch that failed later.
    func mergedStep(
        _ batch: @escaping () -> Step<BatchResult>
    ) throws -> Step<BatchResult> {
        try sessionStep().then { _ in
            try batch().recover { error in
                guard let done = error.done else { throw error }
                // A failure to merge is ignored: the original error reports what was done.
                return try self.mergeStep(through: done.position.number).then { _ in throw error }
                    .recover { _ in throw error }
            }.then { result in
                try self.mergeStep(through: result.position.number).then { _ in .done(result) }
            }
        }
    }
}
