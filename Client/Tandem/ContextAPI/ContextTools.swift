package import TandemModel
import TandemWire

/// The operations of a context that Tandem's own programs need beyond those of apps: outcomes of
/// saves, rejected rows of batches, members and content.
///
///     let count = try await context.tools.insertedRows("Team", .error, id: batch)
package struct ContextTools: ContextPart {
    let context: ManagedObjectContext

    // MARK: Saves

    /// The daemon's answer to the last save, or nil after a failure or if there was nothing to
    /// send.
    package var lastReceipt: SaveReceipt? { checked.saving.lastReceipt }

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
                updates, saveID: saving.nextSaveID(), context: context.name,
                policy: context.mergePolicy, model)
            return LinkSave(calls.send(.save(request)), connection)
        }
    }

    // MARK: Batches

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

    // MARK: Members and content

    /// Loads the members of a relationship for several objects with one request; blocks.
    package func loadMembers(
        of objects: [ManagedObject], _ relationship: String
    ) throws {
        let lists = objects.compactMap { object in
            object.record.entity.slot(of: relationship).map { (object.record.reference, $0) }
        }
        try blocking { try await loader.load([], members: lists, $0) }
    }

    /// Loads the members of a loaded object as of the context's own position; blocks.
    ///
    /// Other reads first merge up to the position of their answer. A caller that prepares a save
    /// based on the state it has seen must avoid that merge. The save would otherwise be based on
    /// the merged state, and lists would report the merge and the save separately. If the object is
    /// not loaded, or the journal does not reach back to the position, nothing is loaded. Cost:
    /// none for members that are loaded; otherwise one request, for which the daemon undoes
    /// everything that was saved since then.
    package func loadMembersInPlace(_ relationship: String, of object: ManagedObject) throws {
        guard let slot = object.entity.slot(of: relationship) else { return }
        try blocking { try await loader.loadMembersInPlace(object.record, slot, $0) }
    }

    /// Returns a value, or its content if the value refers to content outside the row; blocks.
    package func withContent(_ value: PropertyValue) throws -> PropertyValue {
        switch value {
        case .blob(let blob): .data(try blocking { try await loader.content(of: blob, $0) })
        case .longText(let text):
            .string(
                String(
                    decoding: try blocking { try await loader.content(of: text.blob, $0) },
                    as: UTF8.self))
        default: value
        }
    }
}
