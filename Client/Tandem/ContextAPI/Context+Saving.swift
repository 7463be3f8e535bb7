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
    ///     another process. A retry returns the answer to the first save (``lastReceipt``).
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

    /// Saves all edits under an id and a hash that identifies their content, for a caller whose
    /// edits alone do not identify it.
    ///
    /// A retry needs the same hash. After a successful save, there may be nothing left to edit, so
    /// another process first calls ``receipt(ofSave:contentHash:)``.
    @discardableResult
    package func save(saveID: [UInt8], contentHash: StableHash) throws -> Position {
        try blocking { try await saving.save(SaveOptions(nil, saveID, nil, contentHash), $0) }
    }

    /// Saves all edits, and reports the outcome of each insert, including inserts of objects that
    /// were deleted again.
    @discardableResult
    package func save(
        policy: MergePolicy?, saveID: [UInt8]?, author: String?, contentHash: StableHash?,
        inserts: [ManagedObject]
    ) throws -> Position {
        var options = SaveOptions(policy, saveID, author, contentHash)
        options.inserts = inserts.map(\.record)
        return try blocking { try await saving.save(options, $0) }
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
        error.conflicts.compactMap { conflict in
            guard let model = session?.model,
                let entity = model.entity(tagged: conflict.object.tag)
            else { return nil }
            let record = graph.record(conflict.object)
            func named(_ value: (Int) -> PropertyValue?) -> [String: PropertyValue] {
                var result: [String: PropertyValue] = [:]
                for property in entity.properties where !property.isToMany {
                    result[property.name] = value(property.slot)
                }
                return result
            }
            let theirs = conflict.theirs.flatMap { $0.isValid(for: entity) ? $0 : nil }
            return ConflictDetails(
                object: model.id(of: conflict.object), base: named { record.baseValue($0) },
                ours: named { record.value($0) },
                theirs: theirs.map { row in named { row.uncheckedValue($0, in: entity) } })
        }
    }

    /// Returns the answer to the earlier save with this id, or nil if the daemon does not know it.
    ///
    /// The save may come from any process of the same user. The context merges up to it. Call this
    /// before repeating the edits of a save: once the save has been applied, the edits may no
    /// longer be applicable. Blocks.
    /// - Parameters:
    ///   - saveID: The id of that save.
    ///   - contentHash: The content hash of that save.
    /// - Returns: The first answer, or nil.
    /// - Throws: `usage` if the id was used with a different hash; `unknownOutcome` if the
    ///   connection was lost.
    package func receipt(ofSave saveID: [UInt8], contentHash: StableHash) throws -> SaveReceipt? {
        saving.checkSaveID(saveID)
        return try blocking {
            try await saving.receipt(ofSave: saveID, contentHash: contentHash, $0)
        }
    }

    /// Returns the answer to the earlier save with this id, or nil if the daemon does not know it.
    ///
    /// The parameters and errors are the same as for the blocking form.
    package func receipt(
        ofSave saveID: [UInt8], contentHash: StableHash
    ) async throws -> SaveReceipt? {
        saving.checkSaveID(saveID)
        return try await saving.receipt(
            ofSave: saveID, contentHash: contentHash, suspendingCalls)
    }

    /// Forgets a save whose outcome is unknown, instead of retrying it before the next one.
    ///
    /// Its edits are dropped. When the objects are read, or the save's transaction is merged, the
    /// context shows whether the save was applied.
    public func forgetInFlightSave() {
        checked.saving.forget()
    }

    /// Sends a save that sets links, without waiting for its answer.
    ///
    /// The daemon carries out saves in the order in which they are sent. This save has no base
    /// version, so it sets the links regardless of changes by others. Repeating it changes nothing,
    /// because existing members stay. The context neither merges the save nor shows it among its
    /// edits. After a failure, set the same links by editing objects, and save; that also works
    /// after a model change. Throws `unknownEntity`, `unknownProperty` and `usage` for links that
    /// do not fit the model.
    package func send(_ updates: [LinkUpdate]) throws -> LinkSave {
        try blocking { calls in
            let model = try await connectedSession(calls).model
            let request = try LinkUpdate.request(
                updates, saveID: saving.nextSaveID(), context: name, policy: mergePolicy, model)
            return LinkSave(calls.send(.save(request)), connection)
        }
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
        try await execute(request, id: id, author: author, refusing: nil)
    }

    /// Inserts an object for each row as it arrives, and skips rejected rows.
    ///
    /// `refusing` receives the rejected rows, with their errors and their indexes among all rows,
    /// before any later row is inserted. To repeat the batch, leave out the rejected rows.
    /// `numbering` receives the object numbers of each chunk before the chunk is sent. A chunk that
    /// is sent again may have different numbers.
    @discardableResult
    package func execute<Rows>(
        _ request: AsyncBatchInsertRequest<Rows>, id: [UInt8]? = nil, author: String? = nil,
        refusing: (([(row: Int, error: TandemError)]) throws -> Void)?,
        numbering: (([(row: Int, number: ObjectNumber)]) throws -> Void)? = nil
    ) async throws -> BatchResult {
        try await batchOperations.insert(
            request, id, author, refusing: refusing, numbering: numbering)
    }

    /// Returns the number of rows that the daemon has inserted for a batch id.
    ///
    /// Returns 0 if the batch has not begun. Throws `usage` if the id was used for something else.
    package func insertedRows(
        _ entity: String, _ policy: MergePolicy, id: [UInt8]
    ) async throws -> Int {
        try await batchOperations.insertedRows(entity, policy, id)
    }
}
