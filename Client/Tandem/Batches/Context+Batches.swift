import TandemIO
public import TandemModel
import TandemWire

extension ManagedObjectContext {
    /// Deletes all objects of a request in the daemon; blocks until all are deleted and that is merged here.
    ///
    /// Pending edits are not looked at: save or roll back before. When the connection is lost meanwhile the batch goes on with the next one.
    /// - Parameters:
    ///   - request: Which objects.
    ///   - id: A name under which the batch may be repeated, also by another process; at most 56 bytes. A repeat of one that had
    ///     ended answers what that came to, of one that had not it goes on.
    ///   - author: A name to be shown instead of the container's.
    /// - Returns: Up to where, and how many objects.
    /// - Throws: Whatever a save or fetch does. What was done before is merged and stands in the error's `done`.
    @discardableResult
    public func execute(
        _ request: BatchDeleteRequest, id: [UInt8]? = nil, author: String? = nil
    ) throws -> BatchResult {
        try executeStep(order(request.fetchRequest, nil, id, author)).run(on: connection)
    }

    /// Deletes all objects of a request in the daemon; the actor is free meanwhile.
    @discardableResult
    public nonisolated(nonsending) func execute(
        _ request: BatchDeleteRequest, id: [UInt8]? = nil, author: String? = nil
    ) async throws -> BatchResult {
        try await executeStep(order(request.fetchRequest, nil, id, author)).runAsync(on: connection)
    }

    /// Sets values in all objects of a request in the daemon; as with a batch delete, blocks until that is merged here.
    @discardableResult
    public func execute(
        _ request: BatchUpdateRequest, id: [UInt8]? = nil, author: String? = nil
    ) throws -> BatchResult {
        try executeStep(order(request.fetchRequest, request.values, id, author))
            .run(on: connection)
    }

    /// Sets values in all objects of a request in the daemon; the actor is free meanwhile.
    @discardableResult
    public nonisolated(nonsending) func execute(
        _ request: BatchUpdateRequest, id: [UInt8]? = nil, author: String? = nil
    ) async throws -> BatchResult {
        try await executeStep(order(request.fetchRequest, request.values, id, author))
            .runAsync(on: connection)
    }

    /// Inserts an object for each row, in the daemon; blocks until that is merged here.
    ///
    /// Under an `id` a repeat with the same rows, also by another process, inserts those that are missing; other rows are `usage`. When the
    /// connection is lost meanwhile the batch goes on with the next one.
    /// - Returns: Up to where, and how many rows. One that only met an object which has its unique values counts as well.
    /// - Throws: Whatever a save does, for the first row that can't be inserted, whose number stands in the error's `row`. All
    ///   before it are inserted and merged: the error's `done` says how many.
    @discardableResult
    public func execute<Rows>(
        _ request: BatchInsertRequest<Rows>, id: [UInt8]? = nil, author: String? = nil
    ) throws -> BatchResult {
        try insertStep(request, id, author).run(on: connection)
    }

    /// Inserts an object for each row; the actor is free meanwhile.
    @discardableResult
    public nonisolated(nonsending) func execute<Rows>(
        _ request: BatchInsertRequest<Rows>, id: [UInt8]? = nil, author: String? = nil
    ) async throws -> BatchResult {
        try await insertStep(request, id, author).runAsync(on: connection)
    }

    // MARK: Steps

    private func order(
        _ request: FetchRequest, _ values: BatchValues?, _ id: [UInt8]?, _ author: String?
    ) -> BatchOrder {
        BatchOrder(
            id: batchID(id), author: author, context: name, request: request, values: values)
    }

    func batchID(_ id: [UInt8]?) -> [UInt8] {
        let id = id ?? ThisProcess.randomBytes(16)
        precondition(
            (1...WireLimits.batchIDBytes).contains(id.count),
            "The id of a batch has 1 to \(WireLimits.batchIDBytes) bytes.")
        return id
    }

    private func executeStep(_ order: BatchOrder) throws -> Step<BatchResult> {
        let kind = order.values == nil ? "delete" : "update"
        return try toldBatch(kind, order.request.entity) {
            try self.mergedStep { self.connection.batchStep(order) }
        }
    }

    private func insertStep<Rows>(
        _ request: BatchInsertRequest<Rows>, _ id: [UInt8]?, _ author: String?
    ) throws -> Step<BatchResult> {
        let (connection, idBytes) = (connection, batchID(id))
        return try toldBatch("insert", request.entity) {
            try self.mergedStep {
                let work = self.inserting(
                    request.entity, request.policy, idBytes, mayBeRepeat: id != nil, author)
                var rows = request.rows.makeIterator()
                return .connect { _ in try connection.insertStep(work) { rows.next() } }
                    .recover { throw connection.failure($0, of: work) }
            }
        }
    }

    /// A batch insert that has yet to begin.
    func inserting(
        _ entity: String, _ policy: MergePolicy, _ id: [UInt8], mayBeRepeat: Bool,
        _ author: String?, refusing: ((BatchRefusals) throws -> Void)? = nil,
        numbering: ((BatchNumbers) throws -> Void)? = nil
    ) -> BatchInserting {
        BatchInserting(
            entity: entity, policy: policy, id: id, mayBeRepeat: mayBeRepeat, author: author,
            context: name, partBytes: connection.partBytes, refusing: refusing,
            numbering: numbering)
    }

    /// A batch is told of as a save, with all that was done, however many transactions that took.
    func toldBatch(
        _ kind: String, _ entity: String, _ step: () throws -> Step<BatchResult>
    ) throws -> Step<BatchResult> {
        guard let debug, debug.tells(.save) else { return try step() }
        return try told(
            .save, debug,
            { result in
                [("batch", kind), ("entity", entity), ("objects", "\(result.count)")]
            }, step)
    }

    /// Merges what a batch did, also one that failed.
    func mergedStep(
        _ batch: @escaping () -> Step<BatchResult>
    ) throws -> Step<BatchResult> {
        try sessionStep().then { _ in
            try batch().recover { error in
                guard let done = error.done else { throw error }
                // Whether it can be merged now or not: the error says what was done.
                return try self.mergeStep(through: done.position.number).then { _ in throw error }
                    .recover { _ in throw error }
            }.then { result in
                try self.mergeStep(through: result.position.number).then { _ in .done(result) }
            }
        }
    }
}
