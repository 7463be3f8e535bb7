public import TandemModel
import TandemQuery
import TandemWire

extension ManagedObjectContext {
    /// The payloads of the saves that this context merges, its own included.
    ///
    /// What is merged before iterating begins is not in it. Ends with `limitExceeded` for an iterator that lags too far behind.
    public var didSave: some AsyncSequence<SavePayload, any Error> { payloads.saves() }

    // MARK: Following

    /// Merges what the connection received, if that is what the context does unprompted.
    nonisolated(nonsending) func followPushes() async {
        guard mergesAutomatically, !isPaused, let session else { return }
        // A failure here is the connection's; the link is signalled again when it is back.
        try? await mergeStep(
            through: connection.knownSession?.position ?? session.position
        ).runAsync(on: connection)
    }

    /// Stops merging unprompted; the context stays at its position until something is asked.
    public func pause() { isPaused = true }

    /// Merges up to the end of the journal as one change, and follows again; blocks.
    @discardableResult
    public func resume() throws -> Position { try resumeStep().run(on: connection) }

    /// Merges up to the end of the journal as one change, and follows again.
    @discardableResult
    public nonisolated(nonsending) func resume() async throws -> Position {
        try await resumeStep().runAsync(on: connection)
    }

    private func resumeStep() throws -> Step<Position> {
        try sessionStep().then { _ in
            try self.syncStep(number: 0, milliseconds: 0).then { position in
                self.isPaused = false
                return .done(position)
            }
        }
    }

    /// Returns when everything up to a position is merged; blocks.
    ///
    /// Works in every mode. Throws `timeout` when the journal does not get there within `timeout` seconds and
    /// `historyExpired` for a position of another log or epoch.
    @discardableResult
    public func reach(_ position: Position, timeout: Double = 10) throws -> Position {
        try reachStep(position, timeout).run(on: connection)
    }

    /// Returns when everything up to a position is merged.
    @discardableResult
    public nonisolated(nonsending) func reach(
        _ position: Position, timeout: Double = 10
    ) async throws -> Position {
        try await reachStep(position, timeout).runAsync(on: connection)
    }

    private func reachStep(_ position: Position, _ timeout: Double) throws -> Step<Position> {
        precondition(timeout >= 0, "A timeout is not negative.")
        return try sessionStep().then { session in
            guard position.isComparable(with: session.position(0)) else {
                throw TandemError(
                    .historyExpired, "\(position) is of another log or epoch than this store's")
            }
            if self.merged >= position.number { return .done(session.position(self.merged)) }
            let milliseconds = UInt32(clamping: Int64(min(timeout, 4_000_000) * 1_000))
            return try self.syncStep(number: position.number, milliseconds: milliseconds)
        }
    }

    private func syncStep(number: UInt64, milliseconds: UInt32) throws -> Step<Position> {
        let message = ClientMessage.sync(Sync(number: number, timeoutMilliseconds: milliseconds))
        return .ask(message) {
            if case .synced(let position) = $0 { position } else { nil }
        } then: { (end: UInt64) in
            guard end >= number else {
                throw TandemError(.timeout, "the journal ends at \(end), before \(number)")
            }
            return try self.mergeStep(through: end).then { _ in
                guard let session = self.session else { return try self.connectStep() }
                return .done(session.position(self.merged))
            }
        }
    }

    // MARK: Merging

    /// Merges everything up to a position as one group.
    func mergeStep(through target: UInt64) throws -> Step<Void> {
        guard let session, !isCurrent(through: target) || isAnyoneWaiting else {
            return .done(())
        }
        let target = max(target, merged)
        switch connection.recent(
            after: merged, through: target, generation: session.generation)
        {
        case .interrupted(let now): return try restartStep(in: now)
        case .transactions(let found): return try mergeStep(found, through: target)
        case .behind(let floor): return try historyStep(through: target, floor, [])
        }
    }

    private var isAnyoneWaiting: Bool { participants.contains { $0.value?.isWaiting ?? false } }

    private func isCurrent(through target: UInt64) -> Bool {
        merged >= target && connection.knownSession?.generation == session?.generation
    }

    /// Asks for what the ring no longer holds, then goes on with what it holds.
    private func historyStep(
        through target: UInt64, _ floor: UInt64, _ earlier: [Transaction]
    ) throws -> Step<Void> {
        let start = merged
        let from = earlier.last?.position ?? start
        let request = HistoryRequest(
            from: from, to: min(floor, target), interests: connection.interests.sorted(),
            limit: container.limits.historyBatch)
        return .ask(.history(request)) { result in
            guard self.merged == start else { return try self.mergeStep(through: target) }
            if case .failure(let error) = result, error.code == .historyExpired {
                guard let now = self.connection.knownSession else { return .done(()) }
                return try self.restartStep(in: now)
            }
            guard case .history(let history) = try result.get() else {
                throw TandemError(.storage, "the daemon gave no history")
            }
            let all = earlier + (try self.decoded(history))
            if !history.isComplete, !history.transactions.isEmpty {
                return try self.historyStep(through: target, floor, all)
            }
            guard
                case .transactions(let rest) = self.connection.recent(
                    after: max(floor, start), through: target,
                    generation: self.session?.generation ?? 0)
            else { return try self.mergeStep(through: target) }
            return try self.mergeStep(all + rest, through: target)
        }
    }

    private func decoded(_ history: History) throws -> [Transaction] {
        try history.transactions.map { encoded in
            let transaction = try encoded.decoded()
            for change in transaction.changes {
                guard let entity = session?.model.entity(tagged: change.object.tag),
                    change.isValid(for: entity)
                else {
                    throw TandemError(
                        .storage, "transaction \(transaction.position) does not fit the model")
                }
            }
            return transaction
        }
    }

    /// Merges transactions; asks for verdicts first if a participant needs any.
    private func mergeStep(
        _ transactions: [Transaction], through target: UInt64
    ) throws -> Step<Void> {
        guard let session else { return .done(()) }
        if transactions.contains(where: { if case .model = $0.content { true } else { false } }) {
            guard let now = connection.knownSession else { return .done(()) }
            return try restartStep(in: now)
        }
        let group = MergedGroup(
            from: merged, to: target, transactions: transactions, model: session.model)
        let all = participants.compactMap(\.value)
        if let step = try refillStep(group, all, [:]) { return step }
        guard !group.changes.isEmpty, all.contains(where: { $0.needs(group) }) else {
            apply(group, verdicts: [:])
            return .done(())
        }
        let askers = all.filter { $0.verdictItem != nil }
        let items = askers.compactMap(\.verdictItem)
        let request = VerdictRequest(from: merged, items: items)
        return .ask(.verdicts(request)) { result in
            guard self.merged == group.from, self.session?.generation == session.generation else {
                return try self.mergeStep(through: target)
            }
            guard case .verdicts(let answer) = try result.get() else {
                throw TandemError(.storage, "the daemon gave no verdicts")
            }
            return try self.judged(group, answer, askers)
        }
    }

    /// Extends a group to the position of its verdicts and merges it.
    private func judged(
        _ group: MergedGroup, _ answer: Verdicts, _ askers: [any ResultsParticipant]
    ) throws -> Step<Void> {
        guard let session, answer.items.count == askers.count, answer.position >= group.to else {
            throw TandemError(.storage, "the daemon's verdicts do not fit what was asked")
        }
        guard
            case .transactions(let more) = connection.recent(
                after: group.to, through: answer.position, generation: session.generation),
            !more.contains(where: { if case .model = $0.content { true } else { false } })
        else { return try mergeStep(through: answer.position) }
        let whole =
            more.isEmpty && group.to == answer.position
            ? group
            : MergedGroup(
                from: group.from, to: answer.position, transactions: group.transactions + more,
                model: session.model)
        var verdicts: [ObjectIdentifier: [Verdict]] = [:]
        for (asker, item) in zip(askers, answer.items) { verdicts[ObjectIdentifier(asker)] = item }
        try check(answer.items.flatMap { $0.map(\.object) })
        let all = participants.compactMap(\.value)
        if let step = try refillStep(whole, all, verdicts) { return step }
        apply(whole, verdicts: verdicts, related: answer.related)
        return .done(())
    }

    // MARK: Refilling

    /// Fetches what the first participant lacks and merges up to that; nil when nobody lacks anything.
    private func refillStep(
        _ group: MergedGroup, _ all: [any ResultsParticipant],
        _ verdicts: [ObjectIdentifier: [Verdict]]
    ) throws -> Step<Void>? {
        for participant in all {
            let own = verdicts[ObjectIdentifier(participant)]
            guard let fetch = participant.refill(for: group, own) else { continue }
            let generation = session?.generation
            return .ask(.fetch(fetch)) { result in
                guard self.session?.generation == generation else {
                    return try self.mergeStep(through: group.to)
                }
                switch result {
                case .success(.fetched(let answer)):
                    participant.take(.success(answer), of: fetch)
                    return try self.mergeStep(through: max(group.to, answer.position))
                case .success(let other): throw Step<Void>.unexpected(other)
                case .failure(let error):
                    if error.isPassing { throw error }
                    participant.take(.failure(error), of: fetch)
                    return try self.mergeStep(through: group.to)
                }
            }
        }
        return nil
    }

    // MARK: Applying

    /// Takes a group into the rows, lets everyone step, then everyone deliver.
    private func apply(
        _ group: MergedGroup, verdicts: [ObjectIdentifier: [Verdict]],
        related: [StoredObject] = []
    ) {
        deliver()
        guard let session, group.to >= merged else { return }
        merged = group.to
        self.session?.position = max(session.position, group.to)
        settleUnanswered(with: group)
        var touched: [ManagedObject] = []
        for change in group.changes {
            guard let record = records[change.object.number] else { continue }
            take(change, into: record, version: group.versions[change.object.number])
            if let object = record.object { touched.append(object) }
        }
        for (number, version) in group.versions where records[number]?.row != nil {
            records[number]?.version = version
        }
        for stored in related { try? adopt(stored) }
        finish(group, verdicts, touched)
    }

    private func finish(
        _ group: MergedGroup, _ verdicts: [ObjectIdentifier: [Verdict]], _ touched: [ManagedObject]
    ) {
        let all = participants.compactMap(\.value)
        for participant in all { participant.step(group, verdicts[ObjectIdentifier(participant)]) }
        undelivered = all
        for object in touched { object.noteChange() }
        if let session {
            payloads.describe { session.position($0) }
            for transaction in group.transactions { payloads.publish(transaction, session.model) }
        }
        deliver()
    }

    /// Lets everyone deliver who stepped; a nested merge first completes the one around it.
    private func deliver() {
        while !undelivered.isEmpty { undelivered.removeFirst().deliver() }
    }

    private func take(_ change: Change, into record: ObjectRecord, version: UInt64?) {
        switch change.kind {
        case .insert:
            record.row = change.row
            record.version = version ?? merged
            record.isMissing = false
            for property in record.entity.properties where property.isToMany {
                record.members[property.slot] = []
            }
        case .update:
            if record.row != nil { record.row = change.row }
        case .touch: break
        case .delete:
            record.fault()
            record.isMissing = true
            record.pending = Edits()
            edited[change.object.number] = nil
            return
        }
        takeLinks(change, into: record)
    }

    /// Applies gained and lost members where the list is held; a list whose links aren't named is dropped.
    private func takeLinks(_ change: Change, into record: ObjectRecord) {
        let toMany = record.members.keys.filter { change.changed.contains($0) }
        for slot in toMany where !change.links.contains(where: { $0.slot == slot }) {
            if change.kind != .insert { record.members[slot] = nil }
        }
        for link in change.links {
            if link.isAdded {
                record.members[link.slot]?.insert(link.target)
            } else {
                record.members[link.slot]?.remove(link.target)
            }
        }
    }

    /// Starts anew, and fetches the lists that were held.
    private func restartStep(in now: Session) throws -> Step<Void> {
        restart(in: now)
        return isAnyoneWaiting ? try mergeStep(through: merged) : .done(())
    }

    /// Starts anew at the session's position: everything held is dropped, edits stay.
    func restart(in now: Session) {
        deliver()
        let from = merged
        let isOtherModel = session?.model !== now.model
        session = now
        merged = now.position
        if isOtherModel { rebind(to: now.model) }
        for record in records.values { record.fault() }
        records = records.filter { !$0.value.isIdle }
        let group = MergedGroup(restartFrom: from, at: merged)
        finish(group, [:], records.values.compactMap(\.object))
    }

    /// Moves records with objects or edits to another model, by the names of entities and properties.
    private func rebind(to model: CompiledModel) {
        for (number, old) in records {
            guard !old.isIdle, let entity = model.entity(named: old.entity.name) else {
                old.isMissing = true
                records[number] = nil
                continue
            }
            let reference = ObjectReference(tag: entity.tag, number: number)
            let record = ObjectRecord(reference, entity)
            record.pending = old.pending.renamed(from: old.entity, to: entity)
            record.inFlight = old.inFlight.renamed(from: old.entity, to: entity)
            record.isMissing = old.isMissing
            record.pins = old.pins
            record.object = old.object
            old.object?.rebind(to: record)
            records[number] = record
        }
    }
}

extension Edits {
    /// The same edits under another model; what it lacks is left out.
    fileprivate func renamed(from old: CompiledEntity, to new: CompiledEntity) -> Edits {
        func slot(_ slot: Int) -> Int? { new.slot(of: old.properties[slot].name) }
        var result = Edits()
        result.kind = kind
        result.serial = serial
        for (old, value) in values {
            if let slot = slot(old), new.properties[slot].accepts(value) {
                result.values[slot] = value
            }
        }
        for (old, members) in added {
            if let slot = slot(old), new.properties[slot].isToMany { result.added[slot] = members }
        }
        for (old, members) in removed {
            if let slot = slot(old), new.properties[slot].isToMany {
                result.removed[slot] = members
            }
        }
        return result
    }
}

extension TandemError {
    /// Whether asking again may succeed although nothing was changed.
    fileprivate var isPassing: Bool {
        switch code {
        case .disconnected, .timeout, .historyExpired, .readOnly, .unknownOutcome: true
        default: false
        }
    }
}
