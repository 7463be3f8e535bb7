import TandemModel
import TandemQuery
import TandemWire

extension ManagedObjectContext {
    /// Creates a new object of an entity; its id is final.
    ///
    /// Blocks only on the first use of the container and when the leased numbers are used up.
    /// Throws `unknownEntity`, or `disconnected` if there was no connection yet.
    public func insert(_ entity: String) throws -> ManagedObject {
        try blocking { try await insert(entity, $0) }
    }

    /// Creates a new object of a class.
    public func insert<Object: ManagedEntity>(_ type: Object.Type) throws -> Object {
        core.learn(type)
        let object = try insert(type.entity.name)
        guard let typed = object as? Object else {
            throw TandemError(
                .usage, "the entity \(type.entity.name) belongs to another class than \(type)")
        }
        return typed
    }

    private func insert(_ name: String, _ calls: DaemonCalls) async throws -> ManagedObject {
        while true {
            let model = try await connectedSession(calls).model
            guard let entity = model.entity(named: name) else { throw model.unknownEntity(name) }
            if let number = connection.nextNumber() { return insert(entity, number) }
            try await calls.leaseNumbers()
        }
    }

    private func insert(_ entity: CompiledEntity, _ number: ObjectNumber) -> ManagedObject {
        let record = newRecord(ObjectReference(tag: entity.tag, number: number), entity)
        // Undoing the insert restores this state, in which the object does not exist.
        record.isMissing = true
        edit(record) { edits in
            edits.kind = .insert
            for (slot, value) in entity.defaults.enumerated() where !value.isNull {
                edits.values[slot] = value
            }
            for derivation in entity.derivations where derivation.kind == .folded {
                let value = CompiledDerivation.folded(entity.defaults[derivation.source])
                if !value.isNull { edits.values[derivation.slot] = value }
            }
        }
        record.isMissing = false
        return object(of: record)
    }

    /// Drops the pending edits of a record.
    func discard(_ record: ObjectRecord) {
        touch(record, .refresh)
        edited.remove(record)
        failedReads.forgetUnknown(of: record)
        let wasDeleted = record.pending.kind == .delete
        record.pending = Edits()
        notifyObservers(of: record.reference.number)
        if wasDeleted { notifyEnds(of: record) }
    }

    /// Drops all pending edits: new objects disappear, and values return to the merged state.
    public func rollback() {
        undoStack.clear()
        droppedEdits = DroppedEdits()
        failedReads.forgetDropped()
        _ = unseenDeletions.drainDropped()
        for object in edited.objects {
            let record = object.record
            touch(record, .refresh)
            if record.pending.kind == .insert { record.isMissing = true }
            discard(record)
        }
        edited.removeAll()
    }

    /// Discards all objects and edits.
    ///
    /// Objects that are still in use become faults without edits.
    public func reset() {
        for record in records where record.object != nil { touch(record, .invalidation) }
        rollback()
        for record in records {
            record.fault()
            notifyObservers(of: record.reference.number)
        }
        records.removeAll { $0.object == nil && $0.pins <= 0 }
    }

    /// Turns an object into a fault; pending edits are kept if `mergeChanges` is true, and dropped
    /// otherwise.
    ///
    /// If an earlier read of the object failed, the object is loaded at once, which may block; see
    /// ``faultFailure``.
    public func refresh(_ object: ManagedObject, mergeChanges: Bool) {
        let record = object.record
        precondition(
            object.managedObjectContext === self,
            "\(object.id) belongs to another context; refresh it there.")
        if record.isInserted { return }
        touch(record, .refresh)
        if !mergeChanges {
            undoStack.forget(record)
            discard(record)
        }
        record.fault(at: merged)
        notifyObservers(of: record.reference.number)
        if record.isUnreadable { loadAgain(record) }
    }
}

extension DaemonCalls {
    /// Leases numbers for new objects.
    func leaseNumbers() async throws {
        _ = try await answer(to: .lease(count: connection.leaseCount)) {
            if case .lease = $0 { true } else { nil }
        }
    }
}
