public import TandemModel
import TandemWire

extension ManagedObjectContext {
    /// Saves all edits as one transaction, completely or not at all; blocks until it is durable.
    ///
    /// Everything that others saved before is merged first. If another model is installed before
    /// the save arrives, the save is sent again under that model, with the same id, up to
    /// ``ClientLimits/modelAttempts`` times. After a failure the edits are pending as before.
    /// - Parameters:
    ///   - policy: The policy for objects that others changed as well; ``mergePolicy`` if nil.
    ///   - saveID: An id of at most 64 bytes under which the save may be retried, even by another
    ///     process. A retry returns the answer to the first save (``lastReceipt``). After a
    ///     successful save, there may be nothing left to edit, so another process first calls
    ///     ``receipt(ofSave:contentHash:)``.
    ///   - author: An author to record instead of the container's.
    ///   - contentHash: A hash that identifies the content, if the caller knows the content better
    ///     than the edits show it. A retry needs the same hash. If nil, the edits are hashed.
    /// - Returns: The position up to which the context has merged, which includes the save.
    /// - Throws: `conflict`, `validation`, `uniqueness`, `deleteDenied`, `disconnected`, and:
    ///   - `usage` for an author or context name of more than 256 bytes.
    ///   - `schemaMismatch` if an edit does not exist in a new model. The edit is dropped, and the
    ///     next save saves the others.
    ///   - `unreadable` for edits that may depend on a failed read (``faultFailure``).
    ///   - `unknownOutcome` if the save may have happened. The next save first retries this one.
    @discardableResult
    public func save(
        policy: MergePolicy? = nil, saveID: [UInt8]? = nil, author: String? = nil,
        contentHash: StableHash? = nil
    ) throws -> Position {
        try blocking { try await save(SaveOptions(policy, saveID, author, contentHash), $0) }
    }

    /// Saves all edits, and reports the outcome of each insert, including those that were deleted
    /// again.
    @discardableResult
    package func save(
        policy: MergePolicy?, saveID: [UInt8]?, author: String?, contentHash: StableHash?,
        inserts: [ManagedObject]
    ) throws -> Position {
        var options = SaveOptions(policy, saveID, author, contentHash)
        options.inserts = inserts.map(\.record)
        return try blocking { try await save(options, $0) }
    }

    /// Saves all edits as one transaction; does not block the actor.
    ///
    /// Edits made during the save are kept for the next one.
    @discardableResult
    public func save(
        policy: MergePolicy? = nil, saveID: [UInt8]? = nil, author: String? = nil
    ) async throws -> Position {
        try await save(SaveOptions(policy, saveID, author, nil), suspendingCalls)
    }

    func checkSaveID(_ saveID: [UInt8]) {
        precondition(
            !saveID.isEmpty && saveID.count <= WireLimits.saveIDBytes,
            "A save id must have 1 to \(WireLimits.saveIDBytes) bytes.")
    }

    private func save(_ options: SaveOptions, _ calls: DaemonCalls) async throws -> Position {
        let count = edited.count
        return try await traced(.save, { _ in [("objects", "\(count)")] }) {
            try await saveEdits(options, calls)
        }
    }

    private func saveEdits(_ options: SaveOptions, _ calls: DaemonCalls) async throws -> Position {
        lastReceipt = nil
        // A context that only saves would otherwise keep a row of every object it saved.
        sweep()
        if let saveID = options.saveID { checkSaveID(saveID) }
        try checkFailedReads()
        try checkUnseenDeletions(options.policy)
        if let parent { return try await save(options, into: parent, calls) }
        let before = try await connectedSession(calls)
        // Observers may edit and even save, so they are notified before the edits are collected.
        processPendingChanges()
        // An observer notified of a save may save again before the first save is answered.
        if inFlightSave?.isSettled == true { inFlightSave = nil }
        if let inFlightSave {
            guard inFlightSave.isUnknown else {
                throw TandemError(.usage, "this context is already saving; wait for that save")
            }
            _ = try await send(inFlightSave.request, calls)
            return try await saveEdits(options, calls)
        }
        // Observers that were called may have read properties.
        try checkFailedReads()
        try checkUnseenDeletions(options.policy)
        try checkDroppedEdits()
        let records = try validRecords()
        // Reads during validation may have moved the context to another model.
        guard session?.model === before.model, inFlightSave == nil else {
            return try await saveEdits(options, calls)
        }
        let request = request(before, options, records)
        // An empty save is sent only if it has a save id, because it may be a retry.
        guard !request.isEmpty || options.saveID != nil else {
            discardMirroredEdits(records)
            return before.position(merged)
        }
        putInFlight(request, records, before, hasOwnID: options.saveID == nil)
        return try await send(request, calls)
    }

    private func request(
        _ session: ServerState, _ options: SaveOptions, _ records: [ObjectRecord]
    ) -> SaveRequest {
        let policy = options.policy ?? mergePolicy
        let builder = SaveBuilder(
            model: session.model, policy: policy, records: records,
            declared: connection.declaredModel)
        return SaveRequest(
            saveID: options.saveID ?? saveIDs.next(),
            contentHash: options.contentHash
                ?? builder.contentHash(),
            author: options.author, context: name, policy: policy,
            modelVersion: session.model.version,
            encoded: builder.operations(alsoInserted: options.inserts))
    }

    /// Discards mirrored edits and predicted effects if there is nothing else to save.
    private func discardMirroredEdits(_ records: [ObjectRecord]) {
        for record in records where !record.pending.isEmpty {
            let object = object(of: record)
            edited.remove(record)
            if record.pending.isPredicted { touch(record, .refresh) }
            record.pending = Edits()
            object.notifyObservers()
        }
        didEndEdits(of: records)
    }

    private func putInFlight(
        _ request: SaveRequest, _ records: [ObjectRecord], _ session: ServerState, hasOwnID: Bool
    ) {
        undoStack.clear()
        for record in records {
            // Objects first edited during validation belong to the next save.
            edited.remove(record)
            // No other save is in flight, so `inFlight` is empty.
            swap(&record.inFlight, &record.pending)
        }
        inFlightSave = InFlightSave(
            request: request, records: records, model: session.model,
            sentAt: connection.knownSession?.position ?? merged, hasOwnID: hasOwnID)
    }

    private func send(
        _ request: SaveRequest, attempt: Int = 1, _ calls: DaemonCalls
    ) async throws -> Position {
        let sent = inFlightSave
        switch try await calls.answer(to: .save(request)) {
        case .failure(let error):
            if let sent, sent.isSettled, !error.isAnswered, let session {
                // The save is merged and the outcomes of its inserts are known, so the answer is
                // not needed.
                if inFlightSave === sent { inFlightSave = nil }
                return session.position(merged)
            }
            guard error.code == .schemaMismatch, let save = inFlightSave,
                save.request.saveID == request.saveID
            else { throw failed(error, request.saveID) }
            return try await sendAgain(save, error, attempt: attempt + 1, calls)
        case .success(.saved(let saved)):
            guard saved.inserted.count == request.inserts.count,
                (try? check(saved.inserted.compactMap { $0 })) != nil
            else {
                throw failed(
                    TandemError(
                        .unknownOutcome,
                        "the daemon's answer does not fit the save; look at the objects"),
                    request.saveID)
            }
            try await merge(saved, sent, calls)
            complete(saved, saveID: request.saveID)
            lastReceipt = session.map { SaveReceipt(saved, $0) }
            guard let session else { return try await connected(calls) }
            return session.position(merged)
        case .success: throw TandemError.unexpectedAnswer("a request")
        }
    }

    /// Merges up to a save that has happened.
    ///
    /// If this fails before the save itself is merged, the outcome is unknown, and the next save
    /// retries this one.
    private func merge(
        _ saved: SaveAnswer, _ save: InFlightSave?, _ calls: DaemonCalls
    ) async throws {
        do {
            try await merge(through: saved.position, calls)
        } catch {
            guard let save else { throw error }
            // Transactions after the save are left to the next merge.
            if save.isMerged { return }
            guard inFlightSave === save else { throw error }
            save.isUnknown = true
            save.request.firstSentAt = save.sentAt
            throw TandemError(.unknownOutcome, (error as? TandemError)?.message ?? "\(error)")
        }
    }

    /// Sends a save again in the slots of a new model, after the daemon refused it under the old
    /// model.
    ///
    /// The id and hash are unchanged, because it is the same save and nothing of it has happened.
    /// Edits that do not exist in the new model are not left out: they make the save fail.
    private func sendAgain(
        _ save: InFlightSave, _ error: TandemError, attempt: Int, _ calls: DaemonCalls
    ) async throws -> Position {
        save.isUnknown = false
        do {
            let translation = try await followModel(from: save.model, error, calls)
            guard inFlightSave === save, attempt <= core.limits.modelAttempts else { throw error }
            save.request = try translated(save, translation)
            save.model = translation.new
        } catch let error as TandemError {
            throw failed(error, save.request.saveID)
        }
        return try await send(save.request, attempt: attempt, calls)
    }

    /// Returns a save translated into the slots of another model.
    ///
    /// If an edit does not exist in that model, the error names all edits that were dropped.
    private func translated(
        _ save: InFlightSave, _ translation: ModelTranslation
    ) throws(TandemError) -> SaveRequest {
        do { return try translation.save(save.request) } catch {
            defer { save.lost = DroppedEdits() }
            throw save.lost.error ?? error
        }
    }

    // MARK: Outcomes

    /// Returns the edits in flight to the pending ones, unless the save may have happened.
    ///
    /// Edits made during the save stay on top. Returns the error to throw.
    private func failed(_ error: TandemError, _ saveID: [UInt8]) -> TandemError {
        guard inFlightSave?.request.saveID == saveID else { return error }
        if let save = inFlightSave, error.code == .unknownOutcome || save.isUnknown {
            if save.isMerged, error.code == .unknownOutcome {
                inFlightSave = nil
                return error
            }
            // A retry without an answer leaves the outcome unknown.
            if !error.isAnswered || error.code == .unknownOutcome {
                inFlightSave?.isUnknown = true
                inFlightSave?.request.firstSentAt = save.sentAt
                return TandemError(.unknownOutcome, error.message)
            }
        }
        let records = inFlightSave?.records ?? []
        if let lost = inFlightSave?.lost { droppedEdits.merge(lost) }
        inFlightSave = nil
        for conflict in error.conflicts {
            self.records[conflict.object.number]?.refusedFor = conflict.theirsVersion
        }
        var unborn: [ObjectRecord] = []
        for record in records {
            if record.inFlight.kind == .insert, record.pending.kind == .delete {
                unborn.append(record)
            }
            let edits = record.inFlight.under(record.pending)
            record.inFlight = Edits()
            edited.remove(record)
            // If others deleted the object meanwhile, its edits are dropped.
            record.pending = record.isMissing ? Edits() : edits
            guard !record.pending.isEmpty else { continue }
            edited.add(object(of: record))
        }
        // An object that was never saved is not deleted but discarded.
        for record in unborn where !record.isMissing {
            let object = object(of: record)
            touch(record, .refresh)
            // Only a new object has members without being loaded.
            record.pending.kind = .insert
            unlinkAll(record)
            record.pending.kind = .delete
            discard(record)
            record.isMissing = true
            object.notifyObservers()
        }
        didEndEdits(of: records.lazy.filter(\.isMissing))
        // Undo steps recorded during the save lack the edits that were in flight.
        undoStack.clear()
        // The values are unchanged, but the objects have edits to save again.
        for record in records { notifyObservers(of: record.reference.number, PropertyMask()) }
        return error
    }

    /// Removes the edits in flight if the group contains their transaction.
    ///
    /// The row with these values replaces the edits in a single step.
    func completeInFlightSave(from group: MergedGroup) {
        guard let save = inFlightSave, !save.isMerged,
            let transaction = group.transactions.first(where: save.isMade)
        else { return }
        inFlightSave?.isMerged = true
        let changed = Set(group.changes.map(\.object.number))
        let interests = connection.interests
        for record in save.records {
            let isFollowed = interests.contains(record.reference.tag)
            clearInFlight(record, isHeld: changed.contains(record.reference.number) || isFollowed)
        }
        // If another process may have used the save id, only the answer names the objects of the
        // inserts.
        guard save.hasOwnID || save.request.inserts.isEmpty else { return }
        let outcomes = save.outcomes(by: transaction.exceptions)
        let isReadable = (try? check(outcomes.compactMap { $0 })) != nil
        if isReadable { rebind(save, outcomes) }
        inFlightSave?.isSettled = isReadable
        if save.isUnknown { inFlightSave = nil }
    }

    /// Completes a save whose transaction was not merged.
    ///
    /// The save had no effect, or the connection does not subscribe to its entities.
    private func complete(_ saved: SaveAnswer, saveID: [UInt8]) {
        guard let save = inFlightSave, save.request.saveID == saveID else { return }
        inFlightSave = nil
        if !save.isSettled { rebind(save, saved.inserted) }
        guard !save.isMerged else { return }
        let interests = connection.interests
        for record in save.records {
            clearInFlight(
                record, isHeld: !saved.wrote || interests.contains(record.reference.tag))
        }
        // The merge policy may have dropped values that lists show.
        didEndEdits(of: save.records)
        stepOverlays()
    }

    /// Removes a record's edits in flight.
    ///
    /// If `isHeld` is false, the stored row may have changed without being pushed; the row is
    /// dropped and loaded when it is needed.
    func clearInFlight(_ record: ObjectRecord, isHeld: Bool) {
        let (kind, isPredicted) = (record.inFlight.kind, record.inFlight.isPredicted)
        if isPredicted { touch(record, .refresh) }
        // The row has taken over these values, so no other values changed; a merge policy may have
        // dropped some of the edited ones.
        let slots = kind == .none && isHeld ? record.inFlight.mask : nil
        record.inFlight = Edits()
        didEdit(record.reference)
        if kind == .delete, !isPredicted, record.row == nil || !isHeld { record.isMissing = true }
        if !isHeld || (kind == .insert && record.row == nil) { record.fault(at: merged) }
        notifyObservers(of: record.reference.number, slots)
        if isPredicted { notifyEnds(of: record) }
    }

    /// Binds new objects to the existing objects that took their places, or marks them as missing.
    private func rebind(_ save: InFlightSave, _ outcomes: [ObjectReference?]) {
        guard !outcomes.isEmpty else { return }
        for (new, outcome) in zip(save.request.inserts, outcomes) where new != outcome {
            guard let lost = records[new.number] else { continue }
            touch(lost, .refresh)
            lost.inFlight = Edits()
            lost.isMissing = true
            undoStack.forget(lost)
            edited.remove(lost)
            notifyObservers(of: new.number)
            if let outcome { move(lost, to: record(outcome)) }
            lost.pending = Edits()
            didEdit(lost.reference)
            for child in children { child.value?.follow(new, to: outcome) }
        }
    }

    /// Replaces a new object by an existing one, including in edits made while the save was in
    /// flight.
    func move(_ lost: ObjectRecord, to existing: ObjectRecord) {
        let (old, new) = (lost.reference, existing.reference)
        records[old.number] = nil
        if let object = lost.object {
            if existing.object == nil { existing.object = object }
            object.rebind(to: existing)
        }
        if !lost.pending.isEmpty {
            let serial = lost.pending.serial
            existing.pending = existing.pending.under(lost.pending)
            if existing.pending.serial == 0 { existing.pending.serial = serial }
            edited.add(object(of: existing))
        }
        for object in edited.objects {
            object.record.pending.replace(old, by: new)
            didEdit(object.record.reference)
        }
        undoStack.replace(old, by: new)
        didEdit(new)
    }
}

/// The options of a save.
struct SaveOptions {
    var policy: MergePolicy?
    var saveID: [UInt8]?
    var author: String?
    var contentHash: StableHash?
    /// All objects inserted for this save, including those that were deleted again.
    var inserts: [ObjectRecord] = []

    init(
        _ policy: MergePolicy?, _ saveID: [UInt8]?, _ author: String?, _ contentHash: StableHash?
    ) {
        self.policy = policy
        self.saveID = saveID
        self.author = author
        self.contentHash = contentHash
    }
}

extension TandemError {
    /// Whether the daemon evaluated a save and refused it, which means that it has not happened.
    fileprivate var isAnswered: Bool {
        switch code {
        case .disconnected, .timeout, .unknownOutcome, .storage: false
        default: true
        }
    }
}
