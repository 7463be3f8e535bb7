import TandemIO
public import TandemModel
import TandemWire

extension ManagedObjectContext {
    /// Saves all edits as one transaction, whole or not at all; blocks until it is durable.
    ///
    /// What others did up to the save is merged first. After a failure the edits are pending as before.
    /// - Parameters:
    ///   - policy: What to do where others changed the same objects; ``mergePolicy`` if nil.
    ///   - saveID: A name under which the save may be repeated, also by another process; at most 64 bytes.
    ///   - author: A name to be shown instead of the container's.
    ///   - contentHash: Stands for what is saved when the caller knows that better than its edits show; a repeat needs the
    ///     same one. Nil takes the hash of the edits.
    /// - Returns: The position up to which the context has merged, which includes the save.
    /// - Throws: `conflict`, `validation`, `uniqueness`, `deleteDenied`, `disconnected`, or `unknownOutcome`: then
    ///   the next save repeats this one first.
    @discardableResult
    public func save(
        policy: MergePolicy? = nil, saveID: [UInt8]? = nil, author: String? = nil,
        contentHash: StableHash? = nil
    ) throws -> Position {
        try saveStep(policy, saveID, author, contentHash).run(on: connection)
    }

    /// Saves all edits as one transaction; the actor is free meanwhile, and what is edited then is kept for the next save.
    @discardableResult
    public nonisolated(nonsending) func save(
        policy: MergePolicy? = nil, saveID: [UInt8]? = nil, author: String? = nil
    ) async throws -> Position {
        try await saveStep(policy, saveID, author, nil).runAsync(on: connection)
    }

    private func saveStep(
        _ policy: MergePolicy?, _ saveID: [UInt8]?, _ author: String?, _ contentHash: StableHash?
    ) throws -> Step<Position> {
        lastReceipt = nil
        if let saveID {
            precondition(
                !saveID.isEmpty && saveID.count <= WireLimits.saveIDBytes,
                "A save id has 1 to \(WireLimits.saveIDBytes) bytes.")
        }
        return try sessionStep().then { session in
            if let unanswered = self.unanswered {
                guard unanswered.isUnknown else {
                    throw TandemError(.usage, "another save of this context is under way")
                }
                return try self.sendStep(unanswered.request).then { _ in
                    try self.saveStep(policy, saveID, author, contentHash)
                }
            }
            try self.validate()
            let records = self.editedInOrder.map(\.record)
            var request = self.request(session, policy, saveID, author, records)
            if let contentHash { request.contentHash = contentHash }
            // Without edits there is nothing to send, except a repeat that a save id stands for.
            guard !request.operations.isEmpty || saveID != nil else {
                self.dropHints()
                return .done(session.position(self.merged))
            }
            self.putInFlight(request, records)
            return try self.sendStep(request)
        }
    }

    /// Asks every new and changed object whether it may be saved; a refusal leaves all as it is.
    private func validate() throws {
        for object in editedInOrder where object.record.pending.kind != .delete {
            try object.validate()
        }
    }

    private func request(
        _ session: Session, _ policy: MergePolicy?, _ saveID: [UInt8]?, _ author: String?,
        _ records: [ObjectRecord]
    ) -> SaveRequest {
        let policy = policy ?? mergePolicy
        let builder = SaveBuilder(model: session.model, policy: policy)
        let operations = builder.operations(records)
        return SaveRequest(
            saveID: saveID ?? ThisProcess.randomBytes(16),
            contentHash: SaveBuilder.contentHash(operations), author: author, context: name,
            policy: policy, operations: operations)
    }

    /// Drops edits that only mirror other ends, when there is nothing else to save.
    private func dropHints() {
        for object in edited.values { object.record.pending = Edits() }
        edited.removeAll()
    }

    private func putInFlight(_ request: SaveRequest, _ records: [ObjectRecord]) {
        undoStack.clear()
        for record in records {
            record.inFlight = record.pending
            record.pending = Edits()
        }
        edited.removeAll()
        unanswered = UnansweredSave(request: request, records: records)
    }

    private func sendStep(_ request: SaveRequest) throws -> Step<Position> {
        .ask(.save(request)) { result in
            switch result {
            case .failure(let error):
                self.failed(error)
                throw error
            case .success(.saved(let saved)):
                return try self.mergeStep(through: saved.position).then { _ in
                    self.settle(saved)
                    self.lastReceipt = self.session.map { SaveReceipt(saved, $0) }
                    guard let session = self.session else { return try self.connectStep() }
                    return .done(session.position(self.merged))
                }
            case .success(let answer): throw Step<Position>.unexpected(answer)
            }
        }
    }

    // MARK: Outcomes

    /// Returns what was in flight to pending; what was edited meanwhile stays on top.
    private func failed(_ error: TandemError) {
        if error.code == .unknownOutcome {
            unanswered?.isUnknown = true
            return
        }
        let records = unanswered?.records ?? []
        unanswered = nil
        for record in records {
            let edits = record.inFlight.under(record.pending)
            record.inFlight = Edits()
            // Who deleted the object meanwhile has won over the edits.
            record.pending = record.isMissing ? Edits() : edits
            guard !record.pending.isEmpty else { continue }
            edited[record.reference.number] = object(of: record)
        }
    }

    /// Clears what is in flight if the group contains its transaction: row and edits change places in one step.
    func settleUnanswered(with group: MergedGroup) {
        guard let save = unanswered, !save.isMerged,
            group.transactions.contains(where: {
                $0.saveID == save.request.saveID && $0.contentHash == save.request.contentHash
            })
        else { return }
        unanswered?.isMerged = true
        let changed = Set(group.changes.map(\.object.number))
        let interests = connection.interests
        for record in save.records {
            let isFollowed = interests.contains(record.reference.tag)
            clearInFlight(record, isHeld: changed.contains(record.reference.number) || isFollowed)
        }
        if save.isUnknown { unanswered = nil }
    }

    /// Settles what the stream did not: a save without effect, or of entities that nobody follows.
    private func settle(_ saved: Saved) {
        guard let save = unanswered else { return }
        unanswered = nil
        replace(saved.replaced)
        if saved.isRepeat { return alias(save, saved) }
        guard !save.isMerged else { return }
        let interests = connection.interests
        for record in save.records {
            clearInFlight(
                record, isHeld: !saved.wrote || interests.contains(record.reference.tag))
        }
    }

    /// Ends the flight of a record; a row that may have changed unseen is dropped, to be read when needed.
    func clearInFlight(_ record: ObjectRecord, isHeld: Bool) {
        let edits = record.inFlight
        record.inFlight = Edits()
        if edits.kind == .delete, record.row == nil || !isHeld { record.isMissing = true }
        if !isHeld || (edits.kind == .insert && record.row == nil) { record.fault() }
        record.object?.noteChange()
    }

    /// Lets objects whose values existed already stand for the existing objects.
    private func replace(_ replacements: [Replacement]) {
        for replacement in replacements {
            guard let lost = records[replacement.number],
                session?.model.entity(tagged: replacement.by.tag) != nil
            else { continue }
            lost.inFlight = Edits()
            lost.isMissing = true
            records[replacement.number] = nil
            let existing = record(replacement.by)
            guard let object = lost.object else { continue }
            if existing.object == nil { existing.object = object }
            object.rebind(to: existing)
        }
    }

    /// After a repeat, objects inserted again stand for those that the first save made.
    private func alias(_ save: UnansweredSave, _ saved: Saved) {
        let inserted = save.request.operations.compactMap { operation -> ObjectReference? in
            if case .insert(let object, _, _) = operation { object } else { nil }
        }
        let pairs = zip(inserted, saved.inserted).filter { $0.0.number != $0.1.number }
        replace(pairs.map { Replacement(number: $0.0.number, by: $0.1) })
        let interests = connection.interests
        for record in save.records {
            clearInFlight(record, isHeld: interests.contains(record.reference.tag))
        }
    }
}
