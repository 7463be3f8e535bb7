import TandemModel
import TandemWire

/// Runs the saves of a context, one at a time: collects the edits, sends them, and completes the
/// save or makes the edits pending again.
final class SavePipeline: StatefulPart {
    /// The save whose answer is awaited or whose outcome is unknown.
    private(set) var inFlight: InFlightSave?
    private var saveIDs = SaveIDs()
    /// The daemon's answer to the last save, or nil after a failure or if there was nothing to
    /// send.
    private(set) var lastReceipt: SaveReceipt?

    /// Traps unless a save id has a valid length.
    func checkSaveID(_ saveID: [UInt8]) {
        require(
            !saveID.isEmpty && saveID.count <= WireLimits.saveIDBytes,
            "A save id must have 1 to \(WireLimits.saveIDBytes) bytes.")
    }

    /// Saves all edits as one transaction, or into the parent context.
    func save(_ options: SaveOptions, _ calls: DaemonCalls) async throws -> Position {
        let count = editor.editedCount
        return try await logged(.save, { _ in [("objects", "\(count)")] }) {
            try await saveEdits(options, calls)
        }
    }

    private func saveEdits(_ options: SaveOptions, _ calls: DaemonCalls) async throws -> Position {
        lastReceipt = nil
        // A context that only saves would otherwise keep a row of every object it saved.
        graph.sweep()
        if let saveID = options.saveID { checkSaveID(saveID) }
        try failures.checkFailedReads()
        try failures.checkUnseenDeletions(options.policy)
        if let parent {
            return try await ChildSave(context: context).save(options, into: parent, calls)
        }
        let before = try await connectedSession(calls)
        // Observers may edit and even save, so they are notified before the edits are collected.
        context.processPendingChanges()
        // An observer notified of a save may save again before the first save is answered.
        if inFlight?.isSettled == true { inFlight = nil }
        if let inFlight {
            guard inFlight.isUnknown else {
                throw TandemError(.usage, "this context is already saving; wait for that save")
            }
            _ = try await send(inFlight.request, calls)
            return try await saveEdits(options, calls)
        }
        // The observers may have read properties.
        try failures.checkFailedReads()
        try failures.checkUnseenDeletions(options.policy)
        try editor.checkDroppedEdits()
        let records = try validator.validRecords()
        // Reads during validation may have moved the context to a different model.
        guard session?.model === before.model, inFlight == nil else {
            return try await saveEdits(options, calls)
        }
        let request = request(before, options, records)
        // An empty save is sent only if the caller gave it an id, because it may be a retry.
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
        let policy = options.policy ?? context.mergePolicy
        let builder = SaveBuilder(
            model: session.model, policy: policy, records: records,
            declared: connection.declaredModel)
        return SaveRequest(
            saveID: options.saveID ?? nextSaveID(),
            contentHash: options.contentHash ?? builder.contentHash(),
            author: options.author, context: context.name, policy: policy,
            modelVersion: session.model.version,
            encoded: builder.operations(alsoInserted: options.inserts))
    }

    /// Discards mirrored edits and predicted effects if there is nothing else to save.
    private func discardMirroredEdits(_ records: [ObjectRecord]) {
        for record in records where !record.pending.isEmpty {
            let object = graph.object(of: record)
            editor.removeEdited(record)
            if record.pending.isPredicted { reporter.touch(record, .refresh) }
            record.dropPending()
            object.notifyObservers()
        }
        listUpdater.didEndEdits(of: records)
    }

    private func putInFlight(
        _ request: SaveRequest, _ records: [ObjectRecord], _ session: ServerState, hasOwnID: Bool
    ) {
        editor.clearUndo()
        for record in records {
            // Objects first edited during validation belong to the next save.
            editor.removeEdited(record)
            record.send()
        }
        inFlight = InFlightSave(
            request: request, records: records, model: session.model,
            sentAt: connection.knownSession?.position ?? merged, hasOwnID: hasOwnID)
    }

    private func send(
        _ request: SaveRequest, attempt: Int = 1, _ calls: DaemonCalls
    ) async throws -> Position {
        let sent = inFlight
        switch try await calls.answer(to: .save(request)) {
        case .failure(let error):
            if let sent, sent.isSettled, !error.isAnswered, let session {
                // The save is merged and the outcomes of its inserts are known, so the answer is
                // not needed.
                if inFlight === sent { inFlight = nil }
                return session.position(merged)
            }
            guard error.code == .schemaMismatch, let save = inFlight,
                save.request.saveID == request.saveID
            else { throw failed(error, request.saveID) }
            return try await sendAgain(save, error, attempt: attempt + 1, calls)
        case .success(.saved(let saved)):
            guard saved.inserted.count == request.inserts.count,
                (try? graph.check(saved.inserted.compactMap { $0 })) != nil
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

    /// Merges up to a save that was applied.
    ///
    /// If this fails before the save itself is merged, the outcome is unknown, and the next save
    /// retries this one.
    private func merge(
        _ saved: SaveAnswer, _ save: InFlightSave?, _ calls: DaemonCalls
    ) async throws {
        do {
            try await merger.merge(through: saved.position, calls)
        } catch {
            guard let save else { throw error }
            // Transactions after the save are left to the next merge.
            if save.isMerged { return }
            guard inFlight === save else { throw error }
            save.markUnknown()
            throw TandemError(.unknownOutcome, (error as? TandemError)?.message ?? "\(error)")
        }
    }

    /// Sends a save again, translated into the slots of a new model, after the daemon refused it
    /// under the old model.
    ///
    /// The id and hash are unchanged, because it is the same save, and no part of it was applied.
    /// Edits to properties that the new model lacks are not left out: they make the save fail.
    private func sendAgain(
        _ save: InFlightSave, _ error: TandemError, attempt: Int, _ calls: DaemonCalls
    ) async throws -> Position {
        save.markSentAgain()
        do {
            let translation = try await follower.followModel(from: save.model, error, calls)
            guard inFlight === save, attempt <= core.limits.modelAttempts else { throw error }
            save.request = try translated(save, translation)
            save.model = translation.new
        } catch let error as TandemError {
            throw failed(error, save.request.saveID)
        }
        return try await send(save.request, attempt: attempt, calls)
    }

    /// Returns a save translated into the slots of a different model.
    ///
    /// If that model lacks an edited property, the error names all edits that were dropped.
    private func translated(
        _ save: InFlightSave, _ translation: ModelTranslation
    ) throws(TandemError) -> SaveRequest {
        do { return try translation.save(save.request) } catch {
            defer { save.lost = DroppedEdits() }
            throw save.lost.error ?? error
        }
    }

    // MARK: Outcomes

    /// Moves the edits in flight back to the pending edits, unless the save may have been applied.
    ///
    /// Edits made during the save stay on top. Returns the error to throw.
    private func failed(_ error: TandemError, _ saveID: [UInt8]) -> TandemError {
        guard inFlight?.request.saveID == saveID else { return error }
        if let save = inFlight, error.code == .unknownOutcome || save.isUnknown {
            if save.isMerged, error.code == .unknownOutcome {
                inFlight = nil
                return error
            }
            // A retry without an answer leaves the outcome unknown.
            if !error.isAnswered || error.code == .unknownOutcome {
                save.markUnknown()
                return TandemError(.unknownOutcome, error.message)
            }
        }
        let records = inFlight?.records ?? []
        if let lost = inFlight?.lost { editor.recordDropped(lost) }
        inFlight = nil
        for conflict in error.conflicts {
            graph[conflict.object.number]?.recordConflict(with: conflict.theirsVersion)
        }
        var unborn: [ObjectRecord] = []
        for record in records {
            if record.inFlightKind == .insert, record.pendingKind == .delete {
                unborn.append(record)
            }
            editor.removeEdited(record)
            record.takeBack()
            guard !record.pending.isEmpty else { continue }
            editor.addEdited(graph.object(of: record))
        }
        // An object that was never saved is not deleted but discarded.
        for record in unborn where !record.isMissing {
            let object = graph.object(of: record)
            reporter.touch(record, .refresh)
            // The members of an object that is not loaded are known only if the object is new.
            record.setPendingKind(.insert)
            editor.unlinkAll(record)
            record.setPendingKind(.delete)
            editor.discard(record)
            record.markMissing()
            object.notifyObservers()
        }
        listUpdater.didEndEdits(of: records.lazy.filter(\.isMissing))
        // Undo steps recorded during the save lack the edits that were in flight.
        editor.clearUndo()
        // The values are unchanged, but the objects have edits to save again.
        for record in records {
            reporter.notifyObservers(of: record.reference.number, PropertyMask())
        }
        return error
    }

    /// Removes the edits in flight if the group contains their transaction.
    ///
    /// The row with these values replaces the edits in a single step.
    func completeInFlight(from group: MergedGroup) {
        guard let save = inFlight, !save.isMerged,
            let transaction = group.transactions.first(where: save.isMade)
        else { return }
        let isUnknown = save.isUnknown
        save.markMerged()
        let changed = Set(group.changes.map(\.object.number))
        let interests = connection.interests
        for record in save.records {
            let isFollowed = interests.contains(record.reference.tag)
            clearInFlight(record, isHeld: changed.contains(record.reference.number) || isFollowed)
        }
        // If another process may have used the save id, only the answer identifies the inserted
        // objects.
        guard save.hasOwnID || save.request.inserts.isEmpty else { return }
        let outcomes = save.outcomes(by: transaction.exceptions)
        if (try? graph.check(outcomes.compactMap { $0 })) != nil {
            rebind(save, outcomes)
            save.markSettled()
        }
        if isUnknown { inFlight = nil }
    }

    /// Completes a save after its answer.
    ///
    /// A transaction that was not merged had no effect, or the connection does not subscribe to its
    /// entities.
    private func complete(_ saved: SaveAnswer, saveID: [UInt8]) {
        guard let save = inFlight, save.request.saveID == saveID else { return }
        inFlight = nil
        if !save.isSettled { rebind(save, saved.inserted) }
        guard !save.isMerged else { return }
        let interests = connection.interests
        for record in save.records {
            clearInFlight(
                record, isHeld: !saved.wrote || interests.contains(record.reference.tag))
        }
        // The merge policy may have dropped values that lists show.
        listUpdater.didEndEdits(of: save.records)
        listUpdater.stepOverlays()
    }

    /// Removes a record's edits in flight.
    ///
    /// If `isHeld` is false, the stored row may have changed without a push; the context's row is
    /// dropped, and loaded when it is needed.
    private func clearInFlight(_ record: ObjectRecord, isHeld: Bool) {
        let (kind, isPredicted) = (record.inFlightKind, record.inFlight.isPredicted)
        if isPredicted { reporter.touch(record, .refresh) }
        // The row now contains these values, so no other values changed; a merge policy may have
        // dropped some of the edits.
        let slots = kind == .none && isHeld ? record.inFlight.mask : nil
        record.endSave()
        listUpdater.didEdit(record.reference)
        // Determined before the row is dropped.
        let isGone = kind == .delete && !isPredicted && (record.row == nil || !isHeld)
        if !isHeld || (kind == .insert && record.row == nil) { record.fault(at: merged) }
        if isGone { record.markMissing() }
        reporter.notifyObservers(of: record.reference.number, slots)
        if isPredicted { editor.notifyEnds(of: record) }
    }

    /// Binds new objects to the existing objects that replaced them, or marks them as missing.
    private func rebind(_ save: InFlightSave, _ outcomes: [ObjectReference?]) {
        guard !outcomes.isEmpty else { return }
        for (new, outcome) in zip(save.request.inserts, outcomes) where new != outcome {
            guard let lost = graph[new.number] else { continue }
            reporter.touch(lost, .refresh)
            lost.endSave()
            lost.markMissing()
            editor.forgetUndo(of: lost)
            editor.removeEdited(lost)
            reporter.notifyObservers(of: new.number)
            if let outcome { editor.move(lost, to: graph.record(outcome)) }
            lost.dropPending()
            listUpdater.didEdit(lost.reference)
            for child in children { child.editor.follow(new, to: outcome) }
        }
    }

    /// Forgets a save whose outcome is unknown, and drops its edits.
    func forget() {
        guard let save = inFlight, save.isUnknown else { return }
        inFlight = nil
        let interests = connection.interests
        for record in save.records {
            clearInFlight(record, isHeld: interests.contains(record.reference.tag))
            // The deletion may have had no effect; the next read shows whether the object exists.
            if record.row == nil { record.markMissing(false) }
        }
    }

    // MARK: Saves without edits of this context

    /// Returns the answer to the earlier save with this id, or nil if the daemon knows no such
    /// save.
    func receipt(
        ofSave saveID: [UInt8], contentHash: StableHash, _ calls: DaemonCalls
    ) async throws -> SaveReceipt? {
        let model = try await connectedSession(calls).model
        let request = SaveRequest(
            saveID: saveID, contentHash: contentHash, context: context.name,
            modelVersion: model.version, operations: [], onlyAsks: true)
        let saved: SaveAnswer = try await calls.answer(to: .save(request)) {
            if case .saved(let saved) = $0 { saved } else { nil }
        }
        guard saved.isRepeat else { return nil }
        try await merger.merge(through: saved.position, calls)
        return session.map { SaveReceipt(saved, $0) }
    }

    /// Returns an unused save id.
    func nextSaveID() -> [UInt8] { saveIDs.next() }
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
    /// Whether the daemon evaluated a save and refused it, which means that it was not applied.
    fileprivate var isAnswered: Bool {
        switch code {
        case .disconnected, .timeout, .unknownOutcome, .storage: false
        default: true
        }
    }
}
