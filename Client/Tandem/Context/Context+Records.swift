public import TandemModel
import TandemWire

extension ManagedObjectContext {
    /// Returns the object with an id, as a fault if it is not loaded; sends no request for it.
    ///
    /// Throws `unknownEntity` if the model does not have the id's entity. The object may not exist;
    /// see ``existingObject(with:)``.
    public func object(with id: ObjectID) throws -> ManagedObject {
        let session = try blocking { try await connectedSession($0) }
        return object(try reference(id, session))
    }

    /// Returns the loaded object with an id; blocks if it has to be loaded first.
    ///
    /// Throws `unknownObject` if there is none.
    public func existingObject(with id: ObjectID) throws -> ManagedObject {
        try blocking { try await existing(id, $0) }
    }

    /// Returns the object with an id after loading it.
    ///
    /// Throws `unknownObject` if there is none.
    public func existingObject(
        with id: ObjectID
    ) async throws -> ManagedObject {
        try await cancellable { try await existing(id, $0) }
    }

    private func existing(_ id: ObjectID, _ calls: DaemonCalls) async throws -> ManagedObject {
        let reference = try reference(id, try await connectedSession(calls))
        try await load([reference], calls)
        let record = record(reference)
        guard !record.isDeleted, !record.isFault else {
            throw TandemError(.unknownObject, "\(id) does not exist")
        }
        return object(reference)
    }

    func reference(_ id: ObjectID, _ session: ServerState) throws(TandemError) -> ObjectReference {
        guard let reference = session.model.reference(to: id) else {
            throw session.model.unknownEntity(id.entity)
        }
        return reference
    }

    /// Returns the object of a reference; it is unique as long as it is retained.
    func object(_ reference: ObjectReference) -> ManagedObject { object(of: record(reference)) }

    /// Returns the objects of adopted rows, in the same order.
    func objects(of rows: StoredObjects) -> [ManagedObject] {
        rows.withRows { lent in rows.indices.map { object(lent[$0].object) } }
    }

    func object(of record: ObjectRecord) -> ManagedObject {
        if let object = record.object { return object }
        let type = core.type(for: record.entity, in: session?.model)
        // The class's initialiser may read other rows, and so release unused records.
        record.pins += 1
        let object = type.init(binding: ObjectBinding(context: self, record: record))
        record.pins -= 1
        record.object = object
        if record.isFault {
            if recentFaults.count >= core.limits.faultBatch { recentFaults.removeAll() }
            recentFaults.append(record.reference)
        }
        return object
    }

    /// Returns the record of a reference; creates it if needed.
    func record(_ reference: ObjectReference) -> ObjectRecord {
        if let record = records[reference.number] { return record }
        guard let entity = session?.model.entity(tagged: reference.tag) else {
            preconditionFailure("References are checked against the model when they are received.")
        }
        let record = ObjectRecord(reference, entity)
        record.base = parent?.object(reference)
        records[reference.number] = record
        return record
    }

    /// Returns the record of an object that is new in this context; creates it if needed.
    func newRecord(_ reference: ObjectReference, _ entity: CompiledEntity) -> ObjectRecord {
        let record = records[reference.number] ?? ObjectRecord(reference, entity)
        record.base = nil
        records[reference.number] = record
        return record
    }

    /// Returns the record of a reference if this context or an ancestor has one.
    func known(_ reference: ObjectReference) -> ObjectRecord? {
        if let record = records[reference.number] { return record }
        guard let parent, parent.known(reference) != nil else { return nil }
        return record(reference)
    }

    /// Removes unused records if there are many; their rows can be requested again.
    ///
    /// Called before a request is sent, never while an answer is being adopted: new records are not
    /// in use yet.
    func sweep() {
        guard records.count >= sweepAt else { return }
        dropUnused()
        records.removeAll(where: \.isIdle)
        sweepAt = max(core.limits.cachedRows, records.count * 2)
    }

    // MARK: Loading

    /// Returns a fault to load, together with recent faults of its entity and the rows around it in
    /// a list.
    func faultBatch(_ record: ObjectRecord) -> [ObjectReference] {
        let batch = lateFaults(record)
        let room = min(core.limits.windowBatch, core.limits.faultBatch) - batch.count
        guard room > 0, !root.participants.isEmpty else { return batch }
        let known = Set(batch)
        for list in root.lists {
            let near = list.objects(around: record.reference, room)
            if !near.isEmpty { return batch + near.filter { !known.contains($0) } }
        }
        return batch
    }

    private func lateFaults(_ record: ObjectRecord) -> [ObjectReference] {
        let lately = recentFaults.filter { other in
            guard other.tag == record.reference.tag, other != record.reference,
                let known = records[other.number]
            else { return false }
            return known.isFault && known.object != nil
        }
        recentFaults.removeAll()
        return [record.reference] + lately
    }

    /// Loads faults with one request; blocks.
    public func load(_ objects: some Sequence<ManagedObject>) throws {
        try blocking { try await load(objects.map(\.record.reference), $0) }
    }

    /// Loads faults with one request.
    public func load(_ objects: [ManagedObject]) async throws {
        try await cancellable { try await load(objects.map(\.record.reference), $0) }
    }

    /// Loads the rows and members that are not loaded yet; if `withRows` is true, also the rows of
    /// the members.
    ///
    /// If the model changes meanwhile, the read is repeated under the new model.
    func load(
        _ objects: [ObjectReference], members: [(owner: ObjectReference, slot: Int)] = [],
        withRows: Bool = false, attempt: Int = 1, _ calls: DaemonCalls
    ) async throws {
        if let parent {
            return try await parent.load(
                objects.filter { record($0).isFault },
                members: members.filter { record($0.owner).members($0.slot) == nil },
                withRows: withRows, calls)
        }
        let rows = objects.filter { self.record($0).isFault }
        let lists = members.filter { self.record($0.owner).members($0.slot) == nil }
        guard let before = session?.model, !rows.isEmpty || !lists.isEmpty else { return }
        var tags = Set(rows.map(\.tag) + lists.map(\.owner.tag))
        if withRows { for list in lists { tags.formUnion(destinationTags(of: list, before)) } }
        let read = Read(
            objects: rows,
            members: lists.map { MemberRequest(owner: $0.owner, slot: $0.slot) },
            modelVersion: before.version, interests: tags.sorted(), memberRows: withRows)
        do {
            try await load(read, calls)
        } catch let error as TandemError
            where error.code == .schemaMismatch && attempt < core.limits.modelAttempts
        {
            let translation = try await followModel(from: before, error, calls)
            try await load(
                try rows.map { try translation.reference($0) },
                members: try lists.map { try translation.slot($0.slot, of: $0.owner) },
                withRows: withRows, attempt: attempt + 1, calls)
        }
    }

    /// Returns the entities that members of a relationship may have.
    private func destinationTags(
        of list: (owner: ObjectReference, slot: Int), _ model: CompiledModel
    ) -> [EntityTag] {
        record(list.owner).entity.properties[list.slot].relationship
            .flatMap { model.entity(tagged: $0.destination) }?.descendants ?? []
    }

    /// Reads rows and members, and adopts them.
    private func load(_ read: Read, _ calls: DaemonCalls) async throws {
        try await traced(.fault, { _ in read.fields(in: self) }) {
            let answer: ReadAnswer = try await self.read(.read(read), calls) {
                if case .objects(let answer) = $0 { answer } else { nil }
            }
            try adopt(answer)
        }
    }

    /// Adopts the new model after the daemon refused a request under the old one; rethrows the
    /// error if there is no new model.
    func followModel(
        from before: CompiledModel, _ error: TandemError, _ calls: DaemonCalls
    ) async throws -> ModelTranslation {
        // Everything up to its answer was pushed before it, including the model.
        try await mergeToEnd(calls)
        guard let now = session?.model, now.version != before.version else { throw error }
        return ModelTranslation(from: before, to: now)
    }

    /// Adopts an answer that was read at the context's position.
    func adopt(_ answer: ReadAnswer) throws {
        for object in answer.objects { try adopt(object) }
        for missing in answer.missing where records[missing.number] != nil {
            let record = record(missing)
            record.fault()
            record.isMissing = record.pending.kind != .insert && record.inFlight.kind != .insert
            if record.isMissing { recordDeletion(of: record) }
            didLoad(record)
        }
        for list in answer.members {
            try check(list.members + [list.owner])
            let owner = record(list.owner)
            owner.hold(list)
            didLoad(owner)
        }
        dropDoubtfulEdits()
    }

    /// Adopts a row that was read at the context's position.
    func adopt(_ stored: StoredObject) throws(TandemError) {
        _ = try entity(of: stored.object)
        guard let record = recordToUpdate(with: stored) else { return }
        guard stored.row.isValid(for: record.entity) else {
            throw Self.unreadable(stored.object, record.entity)
        }
        hold(stored, in: record)
    }

    /// Adopts a row that was read at the context's position and checked with ``checkRows(_:)``.
    func adopt(checked stored: StoredObject) {
        if let record = recordToUpdate(with: stored) { hold(stored, in: record) }
    }

    /// Returns the record that a stored row updates, or nil if the record has a later row.
    private func recordToUpdate(with stored: StoredObject) -> ObjectRecord? {
        correct(stored.object)
        let record = record(stored.object)
        return record.row == nil || stored.version >= record.version ? record : nil
    }

    private func hold(_ stored: StoredObject, in record: ObjectRecord) {
        record.row = stored.row
        record.version = stored.version
        record.isMissing = false
        didLoad(record)
    }

    /// Replaces a record that was created under the name of another entity.
    func correct(_ reference: ObjectReference) {
        guard let wrong = records[reference.number], wrong.reference.tag != reference.tag else {
            return
        }
        records[reference.number] = nil
        undoStack.forget(wrong)
        if !wrong.isIdle, let model = session?.model {
            let right = record(reference)
            let place = "\(right.id), which was mistaken for \(wrong.id)"
            replace(wrong, by: right, ModelTranslation(from: model, to: model), in: place)
            if let inFlightSave {
                inFlightSave.records = inFlightSave.records.map { $0 === wrong ? right : $0 }
            }
        }
        didEdit(reference)
        for child in children { child.value?.correct(reference) }
    }

    /// Returns the error for a received row that is not a row of its entity.
    static func unreadable(_ object: ObjectReference, _ entity: CompiledEntity) -> TandemError {
        TandemError(.storage, "the row of \(entity.name)/\(object.number) cannot be read")
    }

    /// Checks received rows against the model.
    func checkRows(_ rows: [StoredObject]) throws(TandemError) {
        for stored in rows {
            let entity = try entity(of: stored.object)
            guard stored.row.isValid(for: entity) else {
                throw Self.unreadable(stored.object, entity)
            }
        }
    }

    /// Checks received references against the model.
    func check(_ references: [ObjectReference]) throws(TandemError) {
        for reference in references { _ = try entity(of: reference) }
    }

    /// Returns the entity of a received reference; throws `storage` if the model does not have it.
    func entity(of reference: ObjectReference) throws(TandemError) -> CompiledEntity {
        if let entity = session?.model.entity(tagged: reference.tag) { return entity }
        throw TandemError(
            .storage, "the model lacks the entity of object \(reference.number)")
    }
}

extension Read {
    /// Returns the fields to trace for a read.
    func fields(in context: ManagedObjectContext) -> [(String, String)] {
        let first = objects.first ?? members.first?.owner
        let entity = first.map { context.record($0).entity.name } ?? "-"
        return [("entity", entity), ("rows", "\(objects.count)"), ("lists", "\(members.count)")]
    }
}
