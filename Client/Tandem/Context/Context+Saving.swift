public import TandemModel
import TandemWire

extension ManagedObjectContext {
    /// Saves all edits as one transaction, whole or not at all; blocks until it is durable.
    ///
    /// What others did up to the save is merged first. When another model is installed before the save arrives, it is made again
    /// under that one, with the same id, up to ``ClientLimits/modelAttempts`` times. After a failure the edits are pending as before.
    /// - Parameters:
    ///   - policy: What to do where others changed the same objects; ``mergePolicy`` if nil.
    ///   - saveID: A name under which the save may be repeated, also by another process; at most 64 bytes. A repeat answers what
    ///     the first one did (``lastReceipt``). Once edits have happened, doing them again may leave none: another process asks
    ///     with ``receipt(ofSave:contentHash:)`` first.
    ///   - author: A name to be shown instead of the container's.
    ///   - contentHash: Stands for what is saved when the caller knows that better than its edits show; a repeat needs the
    ///     same one. Nil takes the hash of the edits.
    /// - Returns: The position up to which the context has merged, which includes the save.
    /// - Throws: `usage` for a name of the author or the context that has more than 256 bytes, `conflict`, `validation`,
    ///   `uniqueness`, `deleteDenied`, `disconnected`, `schemaMismatch` when a new model has no place for an edit (that edit is
    ///   dropped, and the next save saves the others), `unreadable` for edits of what could not be read (``faultFailure``), or
    ///   `unknownOutcome`: then the next save repeats this one first.
    @discardableResult
    public func save(
        policy: MergePolicy? = nil, saveID: [UInt8]? = nil, author: String? = nil,
        contentHash: StableHash? = nil
    ) throws -> Position {
        try toldStep(SaveOptions(policy, saveID, author, contentHash)).run(on: connection)
    }

    /// The same, for a saver who wants to know of every insert what it became, also of those that were deleted again before.
    @discardableResult
    package func save(
        policy: MergePolicy?, saveID: [UInt8]?, author: String?, contentHash: StableHash?,
        inserts: [ManagedObject]
    ) throws -> Position {
        var options = SaveOptions(policy, saveID, author, contentHash)
        options.inserts = inserts.map(\.record)
        return try toldStep(options).run(on: connection)
    }

    /// Saves all edits as one transaction; the actor is free meanwhile, and what is edited then is kept for the next save.
    @discardableResult
    public nonisolated(nonsending) func save(
        policy: MergePolicy? = nil, saveID: [UInt8]? = nil, author: String? = nil
    ) async throws -> Position {
        try await toldStep(SaveOptions(policy, saveID, author, nil)).runAsync(on: connection)
    }

    func checkSaveID(_ saveID: [UInt8]) {
        precondition(
            !saveID.isEmpty && saveID.count <= WireLimits.saveIDBytes,
            "A save id has 1 to \(WireLimits.saveIDBytes) bytes.")
    }

    private func toldStep(_ options: SaveOptions) throws -> Step<Position> {
        guard let debug, debug.tells(.save) else { return try saveStep(options) }
        let count = edited.count
        return try told(.save, debug) { _ in
            [("objects", "\(count)")]
        } _: {
            try saveStep(options)
        }
    }

    private func saveStep(_ options: SaveOptions) throws -> Step<Position> {
        lastReceipt = nil
        // Who only saves never reads, and would keep a row of all it saved.
        sweep()
        if let saveID = options.saveID { checkSaveID(saveID) }
        try checkFailedReads()
        try checkUnseenDeletions(options.policy)
        if let parent { return try saveStep(options, into: parent) }
        return try sessionStep().then { session in
            // Who is told may edit and even save, so it comes before anything is decided.
            self.processPendingChanges()
            // Who hears of a save may save again, although it is not answered yet.
            if self.unanswered?.isSettled == true { self.unanswered = nil }
            if let unanswered = self.unanswered {
                guard unanswered.isUnknown else {
                    throw TandemError(.usage, "another save of this context is under way")
                }
                return try self.sendStep(unanswered.request).then { _ in
                    try self.saveStep(options)
                }
            }
            // Observers that were called may have read properties.
            try self.checkFailedReads()
            try self.checkUnseenDeletions(options.policy)
            try self.checkLostEdits()
            let records = try self.validRecords()
            // What validating read may have brought another model.
            guard self.session?.model === session.model, self.unanswered == nil else {
                return try self.saveStep(options)
            }
            let request = self.request(session, options, records)
            // Without edits there is nothing to send, except a repeat that a save id stands for.
            guard !request.isEmpty || options.saveID != nil else {
                self.dropHints(records)
                return .done(session.position(self.merged))
            }
            self.putInFlight(request, records, session, hasOwnID: options.saveID == nil)
            return try self.sendStep(request)
        }
    }

    private func request(
        _ session: Session, _ options: SaveOptions, _ records: [ObjectRecord]
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

    /// Drops edits that only mirror other ends, when there is nothing else to save.
    private func dropHints(_ records: [ObjectRecord]) {
        for record in records where !record.pending.isEmpty {
            let object = object(of: record)
            edited.remove(record)
            if record.pending.isPreview { touch(record, .refresh) }
            record.pending = Edits()
            object.notifyObservers()
        }
        noteEndOfEdits(of: records)
    }

    private func putInFlight(
        _ request: SaveRequest, _ records: [ObjectRecord], _ session: Session, hasOwnID: Bool
    ) {
        undoStack.clear()
        for record in records {
            // What was edited first while these were validated is for the next save.
            edited.remove(record)
            // Nothing is in flight: one save follows another.
            swap(&record.inFlight, &record.pending)
        }
        unanswered = UnansweredSave(
            request: request, records: records, model: session.model,
            sentAt: connection.knownSession?.position ?? merged, hasOwnID: hasOwnID)
    }

    private func sendStep(_ request: SaveRequest, attempt: Int = 1) throws -> Step<Position> {
        let inserts = request.inserts.count
        let sent = unanswered
        return .ask(.save(request)) { result in
            switch result {
            case .failure(let error):
                if let sent, sent.isSettled, !error.isAnswered, let session = self.session {
                    // It is merged already, and what its inserts became is known: nobody needs the answer.
                    if self.unanswered === sent { self.unanswered = nil }
                    return .done(session.position(self.merged))
                }
                guard error.code == .schemaMismatch, let save = self.unanswered,
                    save.request.saveID == request.saveID
                else { throw self.failed(error, request.saveID) }
                return try self.sendAgainStep(save, error, attempt: attempt + 1)
            case .success(.saved(let saved)):
                guard saved.inserted.count == inserts,
                    (try? self.check(saved.inserted.compactMap { $0 })) != nil
                else {
                    throw self.failed(
                        TandemError(.unknownOutcome, "the daemon's answer does not fit the save"),
                        request.saveID)
                }
                return try self.mergeStep(of: saved, sent).then { _ in
                    self.settle(saved, request.saveID)
                    self.lastReceipt = self.session.map { SaveReceipt(saved, $0) }
                    guard let session = self.session else { return try self.connectStep() }
                    return .done(session.position(self.merged))
                }
            case .success(let answer): throw Step<Position>.unexpected(answer)
            }
        }
    }

    /// Merges up to a save that has happened; if that fails before the save itself is merged, the next save asks for it again.
    private func mergeStep(of saved: Saved, _ save: UnansweredSave?) throws -> Step<Void> {
        func failed(_ error: TandemError) throws -> Step<Void> {
            guard let save else { throw error }
            // What came after it is for the next merge.
            if save.isMerged { return .done(()) }
            guard unanswered === save else { throw error }
            save.isUnknown = true
            save.request.firstSentAt = save.sentAt
            throw TandemError(.unknownOutcome, error.message)
        }
        do {
            return try mergeStep(through: saved.position).recover(failed)
        } catch {
            return try failed(error as? TandemError ?? TandemError(.storage, "\(error)"))
        }
    }

    /// Sends a save again that the daemon refused because it has another model by now, in the slots of that.
    ///
    /// Id and hash stay: it is the same save, of which nothing has happened. What the new model has no place for is not left out,
    /// it makes the save fail.
    private func sendAgainStep(
        _ save: UnansweredSave, _ error: TandemError, attempt: Int
    ) throws -> Step<Position> {
        save.isUnknown = false
        let limit = core.limits.modelAttempts
        return try followModelStep(from: save.model, error).then {
            translation -> Step<(SaveRequest, CompiledModel)> in
            guard self.unanswered === save, attempt <= limit else { throw error }
            return .done((try self.translated(save, translation), translation.new))
        }.recover { throw self.failed($0, save.request.saveID) }.then { request, model in
            save.request = request
            save.model = model
            return try self.sendStep(request, attempt: attempt)
        }
    }

    /// A save in the slots of another model; who is told that it can't be done is told of all that was dropped.
    private func translated(
        _ save: UnansweredSave, _ translation: ModelTranslation
    ) throws(TandemError) -> SaveRequest {
        do { return try translation.save(save.request) } catch {
            defer { save.lost = LostEdits() }
            throw save.lost.error ?? error
        }
    }

    // MARK: Outcomes

    /// Returns what was in flight to pending, unless the save may have happened; what was edited meanwhile stays on top.
    private func failed(_ error: TandemError, _ saveID: [UInt8]) -> TandemError {
        guard unanswered?.request.saveID == saveID else { return error }
        if let save = unanswered, error.code == .unknownOutcome || save.isUnknown {
            if save.isMerged, error.code == .unknownOutcome {
                unanswered = nil
                return error
            }
            // Whoever could not ask again knows no more than before.
            if !error.isAnswered || error.code == .unknownOutcome {
                unanswered?.isUnknown = true
                unanswered?.request.firstSentAt = save.sentAt
                return TandemError(.unknownOutcome, error.message)
            }
        }
        let records = unanswered?.records ?? []
        if let lost = unanswered?.lost { lostEdits.note(lost) }
        unanswered = nil
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
            // Who deleted the object meanwhile has won over the edits.
            record.pending = record.isMissing ? Edits() : edits
            guard !record.pending.isEmpty else { continue }
            edited.add(object(of: record))
        }
        // What was never saved is not deleted, but forgotten.
        for record in unborn where !record.isMissing {
            let object = object(of: record)
            touch(record, .refresh)
            // Only what is new has members without being loaded.
            record.pending.kind = .insert
            unlinkAll(record)
            record.pending.kind = .delete
            discard(record)
            record.isMissing = true
            object.notifyObservers()
        }
        noteEndOfEdits(of: records.lazy.filter(\.isMissing))
        // Steps noted during the flight lead back to edits without those that were in flight.
        undoStack.clear()
        // The values are what they were, but there is something to save again.
        for record in records { notifyObservers(of: record.reference.number, PropertyMask()) }
        return error
    }

    /// Clears what is in flight if the group contains its transaction: row and edits change places in one step.
    func settleUnanswered(with group: MergedGroup) {
        guard let save = unanswered, !save.isMerged,
            let transaction = group.transactions.first(where: save.isMade)
        else { return }
        unanswered?.isMerged = true
        let changed = Set(group.changes.map(\.object.number))
        let interests = connection.interests
        for record in save.records {
            let isFollowed = interests.contains(record.reference.tag)
            clearInFlight(record, isHeld: changed.contains(record.reference.number) || isFollowed)
        }
        // Under an id that others may have used, only the answer tells which objects are meant.
        guard save.hasOwnID || save.request.inserts.isEmpty else { return }
        let outcomes = save.outcomes(by: transaction.exceptions)
        let isReadable = (try? check(outcomes.compactMap { $0 })) != nil
        if isReadable { rebind(save, outcomes) }
        unanswered?.isSettled = isReadable
        if save.isUnknown { unanswered = nil }
    }

    /// Settles what the stream did not: a save without effect, or of entities that nobody follows.
    private func settle(_ saved: Saved, _ saveID: [UInt8]) {
        guard let save = unanswered, save.request.saveID == saveID else { return }
        unanswered = nil
        if !save.isSettled { rebind(save, saved.inserted) }
        guard !save.isMerged else { return }
        let interests = connection.interests
        for record in save.records {
            clearInFlight(
                record, isHeld: !saved.wrote || interests.contains(record.reference.tag))
        }
        // A policy may have dropped what lists show.
        noteEndOfEdits(of: save.records)
        stepOverlays()
    }

    /// Ends the flight of a record; a row that may have changed unseen is dropped, to be read when needed.
    func clearInFlight(_ record: ObjectRecord, isHeld: Bool) {
        let (kind, isPreview) = (record.inFlight.kind, record.inFlight.isPreview)
        if isPreview { touch(record, .refresh) }
        // Values that the row has taken over are as before, but for a policy that dropped some.
        let slots = kind == .none && isHeld ? record.inFlight.mask : nil
        record.inFlight = Edits()
        noteEdit(record.reference)
        if kind == .delete, !isPreview, record.row == nil || !isHeld { record.isMissing = true }
        if !isHeld || (kind == .insert && record.row == nil) { record.fault(at: merged) }
        notifyObservers(of: record.reference.number, slots)
        if isPreview { noteEnds(of: record) }
    }

    /// Lets new objects that became other ones, or nothing, stand for those.
    private func rebind(_ save: UnansweredSave, _ outcomes: [ObjectReference?]) {
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
            noteEdit(lost.reference)
            for child in children { child.value?.follow(new, to: outcome) }
        }
    }

    /// Puts an existing object in the place of a new one, also in what was edited while the save was in flight.
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
            noteEdit(object.record.reference)
        }
        undoStack.replace(old, by: new)
        noteEdit(new)
    }
}

/// What a save is told besides the edits.
struct SaveOptions {
    var policy: MergePolicy?
    var saveID: [UInt8]?
    var author: String?
    var contentHash: StableHash?
    /// All that was inserted for this save, also what was deleted again.
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
    /// Whether the daemon looked at a save and said this: then it has not happened.
    fileprivate var isAnswered: Bool {
        switch code {
        case .disconnected, .timeout, .unknownOutcome, .storage: false
        default: true
        }
    }
}
