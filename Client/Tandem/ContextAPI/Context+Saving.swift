public import TandemModel
import TandemWire

extension ManagedObjectContext {
    /// Saves all edits as one transaction, completely or not at all; blocks until it is durable.
    ///
    /// All saves by others up to now are merged first. If a different model is installed before the
    /// save arrives, the save is sent again under that model, with the same id, for at most five
    /// attempts in total. After a failure, the edits are still pending.
    /// - Parameters:
    ///   - policy: The policy for objects that others changed as well; ``mergePolicy`` if nil.
    ///   - saveID: An id of at most 64 bytes under which the same edits may be saved again, even by
    ///     another process. A retry does not write again.
    ///   - author: An author to record instead of the container's.
    /// - Returns: The position up to which the context has merged, which includes the save.
    /// - Throws: `conflict`, `validation`, `uniqueness`, `deleteDenied`, `disconnected`, and:
    ///   - `usage` for an author or context name of more than 256 bytes.
    ///   - `schemaMismatch` if an edited entity or property does not exist in a new model. The edit
    ///     is dropped, and the next save saves the other edits.
    ///   - `unreadable` for edits that may depend on a failed read (``faultFailure``).
    ///   - `unknownOutcome` if the save may have happened. The next save first retries this one.
    @discardableResult
    public func save(
        policy: MergePolicy? = nil, saveID: [UInt8]? = nil, author: String? = nil
    ) throws -> Position {
        try blocking { try await saving.save(SaveOptions(policy, saveID, author, nil), $0) }
    }

    /// Saves all edits as one transaction; does not block the actor.
    ///
    /// Edits made during the save are kept for the next one.
    @discardableResult
    public func save(
        policy: MergePolicy? = nil, saveID: [UInt8]? = nil, author: String? = nil
    ) async throws -> Position {
        try await saving.save(SaveOptions(policy, saveID, author, nil), suspendingCalls)
    }

    /// Returns the conflicting values for an error that ``save(policy:saveID:author:)`` threw.
    ///
    /// Call this before a rollback and before the next merge.
    public func details(of error: TandemError) -> [ConflictDetails] {
        error.conflicts.compactMap { ConflictDetails($0, in: checked) }
    }

    /// Forgets a save whose outcome is unknown, instead of retrying it before the next one.
    ///
    /// Its edits are dropped. When the objects are read, or the save's transaction is merged, the
    /// context shows whether the save was applied.
    public func forgetInFlightSave() {
        checked.saving.forget()
    }

    // MARK: Batches

    /// Deletes all objects that a request selects, in the daemon; blocks until the context has
    /// merged the deletions.
    ///
    /// Pending edits are ignored; save or roll back first. If the connection is lost, the batch
    /// resumes after the reconnect.
    /// - Parameters:
    ///   - request: The request that selects the objects.
    ///   - id: An id of 1 to 56 bytes under which the batch may be repeated, even by another
    ///     process. Repeating a finished batch returns its result; repeating an unfinished one
    ///     resumes it.
    ///   - author: The author to record instead of the container's.
    /// - Returns: The position of the last transaction, and the number of objects.
    /// - Throws: The errors of saves and fetches. Changes made before the error are merged, and the
    ///   error's `done` reports them.
    @discardableResult
    public func execute(
        _ request: BatchDeleteRequest, id: [UInt8]? = nil, author: String? = nil
    ) throws -> BatchResult {
        let batch = try batchOperations.order(request.fetchRequest.descriptor, nil, id, author)
        return try blocking { try await batchOperations.execute(batch, $0) }
    }

    /// Deletes all objects that a request selects, in the daemon, without blocking the actor.
    @discardableResult
    public func execute(
        _ request: BatchDeleteRequest, id: [UInt8]? = nil, author: String? = nil
    ) async throws -> BatchResult {
        let batch = try batchOperations.order(request.fetchRequest.descriptor, nil, id, author)
        return try await batchOperations.execute(batch, suspendingCalls)
    }

    /// Sets values in all objects that a request selects, in the daemon; blocks until the context
    /// has merged the changes.
    ///
    /// The parameters, the result and the errors are the same as for a batch delete.
    @discardableResult
    public func execute(
        _ request: BatchUpdateRequest, id: [UInt8]? = nil, author: String? = nil
    ) throws -> BatchResult {
        let batch = try batchOperations.order(
            request.fetchRequest.descriptor, request.values, id, author)
        return try blocking { try await batchOperations.execute(batch, $0) }
    }

    /// Sets values in all objects that a request selects, in the daemon, without blocking the
    /// actor.
    @discardableResult
    public func execute(
        _ request: BatchUpdateRequest, id: [UInt8]? = nil, author: String? = nil
    ) async throws -> BatchResult {
        let batch = try batchOperations.order(
            request.fetchRequest.descriptor, request.values, id, author)
        return try await batchOperations.execute(batch, suspendingCalls)
    }

    /// Inserts an object for each row, in the daemon; blocks until the context has merged the
    /// objects.
    ///
    /// Repeating the insert under the same `id` with the same rows inserts the missing rows, even
    /// from another process. With different rows it throws `usage`. If the connection is lost, the
    /// batch resumes after the reconnect.
    /// - Returns: The position of the last transaction, and the number of rows. A row also counts
    ///   if an existing object already has its unique values.
    /// - Throws: The errors of a save, for the first row that can't be inserted; the error's `row`
    ///   is its index. All rows before it are inserted and merged; the error's `done` reports their
    ///   number.
    @discardableResult
    public func execute<Rows>(
        _ request: BatchInsertRequest<Rows>, id: [UInt8]? = nil, author: String? = nil
    ) throws -> BatchResult {
        try blocking { try await batchOperations.insert(request, id, author, $0) }
    }

    /// Inserts an object for each row, without blocking the actor.
    @discardableResult
    public func execute<Rows>(
        _ request: BatchInsertRequest<Rows>, id: [UInt8]? = nil, author: String? = nil
    ) async throws -> BatchResult {
        try await batchOperations.insert(request, id, author, suspendingCalls)
    }

    /// Inserts an object for each row as it arrives, without blocking the actor.
    ///
    /// Works like a ``BatchInsertRequest``. If the sequence throws an error, the rows already sent
    /// are inserted and merged, and the error is rethrown. Rows that arrived after the last sent
    /// chunk are not inserted.
    @discardableResult
    public func execute<Rows>(
        _ request: AsyncBatchInsertRequest<Rows>, id: [UInt8]? = nil, author: String? = nil
    ) async throws -> BatchResult {
        try await batchOperations.insert(request, id, author)
    }
}
