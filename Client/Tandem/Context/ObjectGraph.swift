import TandemModel
import TandemWire

/// The records and objects of a context: one record for each object that the context knows.
///
/// Objects are unique: as long as an object is retained, the graph returns the same instance.
final class ObjectGraph: StatefulPart {
    private let records = RecordTable()
    /// The number of records at which unused records will next be removed.
    private var sweepAt: Int
    /// The contexts of finished loops over batches, while objects of these contexts are in use.
    private var keptForObjects: [ManagedObjectContext] = []
    /// The slots and columns of properties by name, shared by the context's objects.
    let propertyCache = PropertyCache()

    override init(_ shared: SharedByParts) {
        sweepAt = shared.core.limits.cachedRows
        super.init(shared)
    }

    /// The record with this number, or nil if the context has none.
    subscript(number: ObjectNumber) -> ObjectRecord? { records[number] }

    /// The number of records.
    var count: Int { records.count }

    /// Removes the records that satisfy a predicate.
    func removeAll(where matches: (ObjectRecord) -> Bool) { records.removeAll(where: matches) }

    /// Removes a record whose object moves to another record.
    func remove(_ record: ObjectRecord) {
        // A merge triggered by observers may have moved the object to another record.
        if records[record.reference.number] === record { records[record.reference.number] = nil }
    }

    /// The records, for answers that look them up without the context.
    var table: RecordTable { records }

    // MARK: Objects

    func reference(_ id: ObjectID, _ session: ServerState) throws(TandemError) -> ObjectReference {
        guard let reference = session.model.reference(to: id) else {
            throw session.model.unknownEntity(id.entity)
        }
        return reference
    }

    /// Returns the object with this reference, and the same instance as long as it is retained.
    func object(_ reference: ObjectReference) -> ManagedObject { object(of: record(reference)) }

    /// Returns the objects of adopted rows, in the same order.
    func objects(of rows: StoredObjects) -> [ManagedObject] {
        rows.withRows { lent in rows.indices.map { object(lent[$0].object) } }
    }

    func object(of record: ObjectRecord) -> ManagedObject {
        if let object = record.object { return object }
        let type = core.type(for: record.entity, in: session?.model)
        // The class's initialiser may read other objects, which may remove unused records.
        record.pin()
        let object = type.init(binding: ObjectBinding(context: context, record: record))
        record.pin(-1)
        // The initialiser may have loaded a fault, so that a merge made the object.
        if let object = record.object { return object }
        record.bind(object)
        if record.isFault { loader.recordFault(record.reference) }
        return object
    }

    /// Returns the record of a reference; creates it if needed.
    func record(_ reference: ObjectReference) -> ObjectRecord {
        if let record = records[reference.number] { return record }
        guard let entity = session?.model.entity(tagged: reference.tag) else {
            preconditionFailure("References are checked against the model when they are received.")
        }
        let record = ObjectRecord(reference, entity, base: parent?.graph.object(reference))
        records[reference.number] = record
        return record
    }

    /// Returns the record of an object that is new in this context; creates it if needed.
    func newRecord(_ reference: ObjectReference, _ entity: CompiledEntity) -> ObjectRecord {
        let record = records[reference.number] ?? ObjectRecord(reference, entity)
        record.removeBase()
        records[reference.number] = record
        return record
    }

    /// Returns the record of a referenced object if this context or an ancestor has one.
    func known(_ reference: ObjectReference) -> ObjectRecord? {
        if let record = records[reference.number] { return record }
        guard let parent, parent.graph.known(reference) != nil else { return nil }
        return record(reference)
    }

    /// Whether the context has a row of the object.
    func hasRow(_ number: ObjectNumber) -> Bool { records[number]?.row != nil }

    /// Stores a row that is valid at the context's position, unless the context already has a row
    /// of the object.
    func storeRow(_ object: ObjectReference, _ row: Row, version: UInt64?) {
        let record = record(object)
        guard record.row == nil, let version else { return }
        record.store(row, version: version)
        failures.didLoad(record)
    }

    // MARK: Removing

    /// Removes unused records if there are many; their rows can be requested again.
    ///
    /// Called before a request is sent, never while an answer is being adopted: new records are not
    /// in use yet.
    func sweep() {
        if records.count >= sweepAt { sweepNow() }
    }

    /// Removes unused records, however few there are.
    func sweepNow() {
        dropUnused()
        records.removeAll(where: \.isIdle)
        sweepAt = Swift.max(core.limits.cachedRows, records.count * 2)
    }

    /// Retains a context while its objects are in use, because objects have no values without it.
    ///
    /// The retained context is released with this graph at the latest.
    func keepForObjects(_ other: ManagedObjectContext) {
        keptForObjects.append(other)
        dropUnused()
    }

    /// The number of retained contexts.
    var keptCount: Int { keptForObjects.count }

    /// Releases the retained contexts that have no objects in use.
    func dropUnused() {
        guard !keptForObjects.isEmpty else { return }
        keptForObjects.removeAll { other in !other.graph.contains { $0.object != nil } }
    }

    // MARK: Refreshing

    /// Turns an object into a fault, and drops its edits unless `keepsEdits` is true.
    func refresh(_ record: ObjectRecord, keepsEdits: Bool) {
        if record.isInserted { return }
        reporter.touch(record, .refresh)
        if !keepsEdits {
            editor.forgetUndo(of: record)
            editor.discard(record)
        }
        record.fault(at: merged)
        reporter.notifyObservers(of: record.reference.number)
        if record.isUnreadable { loader.loadAgain(record) }
    }

    /// Turns all objects into faults, and keeps their edits.
    func refreshAll() {
        for record in records where !record.isInserted && !record.isMissing {
            if record.object != nil { reporter.touch(record, .refresh) }
            record.fault(at: merged)
            reporter.notifyObservers(of: record.reference.number)
        }
    }

    /// Discards all objects and edits.
    func reset() {
        for record in records where record.object != nil { reporter.touch(record, .invalidation) }
        editor.rollback()
        for record in records {
            record.fault()
            reporter.notifyObservers(of: record.reference.number)
        }
        records.removeAll { $0.object == nil && $0.pins <= 0 }
    }

    // MARK: Received rows and references

    /// Adopts a row that was read at the context's position.
    func adopt(_ stored: StoredObject) throws(TandemError) {
        _ = try entity(of: stored.object)
        guard let record = recordToUpdate(with: stored) else { return }
        guard stored.row.isValid(for: record.entity) else {
            throw Self.unreadable(stored.object, record.entity)
        }
        storeRow(stored, in: record)
    }

    /// Adopts a row that was read at the context's position and checked with ``checkRows(_:)``.
    func adopt(checked stored: StoredObject) {
        if let record = recordToUpdate(with: stored) { storeRow(stored, in: record) }
    }

    /// Returns the record that a stored row updates, or nil if the record has a later row.
    private func recordToUpdate(with stored: StoredObject) -> ObjectRecord? {
        correct(stored.object)
        let record = record(stored.object)
        return record.row == nil || stored.version >= record.version ? record : nil
    }

    private func storeRow(_ stored: StoredObject, in record: ObjectRecord) {
        record.store(stored.row, version: stored.version)
        failures.didLoad(record)
    }

    /// Returns the error for a received row that is not a valid row of its entity.
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

    /// Returns the entity of a received reference; throws `storage` if the model lacks the entity.
    func entity(of reference: ObjectReference) throws(TandemError) -> CompiledEntity {
        if let entity = session?.model.entity(tagged: reference.tag) { return entity }
        throw TandemError(
            .storage, "the model lacks the entity of object \(reference.number)")
    }

    // MARK: Members

    /// Returns the members of a to-many relationship, or nil if they have to be loaded first.
    ///
    /// The result includes edits made at both ends.
    func members(of record: ObjectRecord, _ slot: Int) -> Set<ObjectReference>? {
        guard let relationship = record.entity.properties[slot].relationship,
            let below = record.membersBelow(slot)
        else { return nil }
        if relationship.inverseToMany {
            return record.members(slot)?.filter { records[$0.number]?.isDeleted != true }
        }
        let edits = record.hasEdits ? [record.inFlight, record.pending] : []
        let added = edits.compactMap { $0.added[slot] }
        return added.reduce(below) { $0.union($1) }.filter { member in
            guard let other = records[member.number] else { return below.contains(member) }
            if other.isDeleted { return false }
            // The edit at the to-one end takes precedence; the edit at this end may only mirror it.
            guard let value = other.editedValues[relationship.inverseSlot] else {
                return below.contains(member)
            }
            return value.reference?.number == record.reference.number
        }
    }

    /// Returns the members of a to-many relationship in order, or nil if they have to be loaded
    /// first.
    ///
    /// The result includes edits made at both ends. Members without a rank come last; members of an
    /// unordered relationship are sorted by number.
    func membersInOrder(of record: ObjectRecord, _ slot: Int) -> [ObjectReference]? {
        members(of: record, slot).map { members in
            members.map { rankedMember($0, in: record, slot) }.sorted(by: RankPlan.isBefore)
                .map(\.member)
        }
    }

    /// Returns a member with its rank, for sorting.
    func rankedMember(
        _ member: ObjectReference, in record: ObjectRecord, _ slot: Int
    ) -> RankPlan.Member {
        (member, rank(of: member, in: record, slot))
    }

    /// Returns the rank of a member, or nil if it was added without one.
    private func rank(
        of member: ObjectReference, in record: ObjectRecord, _ slot: Int
    ) -> Rank? {
        guard record.entity.properties[slot].relationship?.isOrdered == true else { return nil }
        for edits in record.hasEdits ? [record.pending, record.inFlight] : [] {
            if let rank = edits.ranks[slot]?[member] { return rank }
            if edits.added[slot]?.contains(member) == true { return nil }
        }
        guard let base = record.base else { return record.ranks[slot]?[member] }
        guard let context = base.managedObjectContext else { return nil }
        return context.graph.rank(of: member, in: base.record, slot)
    }

    /// Returns the loaded objects at the other end of a relationship.
    func destinations(
        of record: ObjectRecord, _ slot: Int, _ relationship: CompiledRelationship
    ) -> [ObjectReference] {
        if relationship.toMany {
            // If the members are not loaded, at least the members added in this context are known.
            let added = record.inFlight.applied(to: [], slot)
            let known = members(of: record, slot) ?? record.pending.applied(to: added, slot)
            return known.sorted()
        }
        return record.value(slot)?.reference.map { [$0] } ?? []
    }

    // MARK: Other entities and models

    /// Replaces a record that was created with the wrong entity.
    func correct(_ reference: ObjectReference) {
        guard let wrong = records[reference.number], wrong.reference.tag != reference.tag else {
            return
        }
        records[reference.number] = nil
        editor.forgetUndo(of: wrong)
        if !wrong.isIdle, let model = session?.model {
            let right = record(reference)
            let place = "\(right.id), which was mistaken for \(wrong.id)"
            replace(wrong, by: right, ModelTranslation(from: model, to: model), in: place)
            saving.inFlight?.replaceRecords { $0 === wrong ? right : $0 }
        }
        listUpdater.didEdit(reference)
        for child in children { child.graph.correct(reference) }
    }

    /// Rebinds the records to a different model, and drops unused records.
    ///
    /// Entities and properties are matched by their names and their former names.
    func rebind(_ translation: ModelTranslation) {
        let place = translation.subject
        editor.clearUndo()
        // Edited objects are retained until all records have moved, because their deinitialisers
        // may run arbitrary code.
        let held = editor.editedObjects
        for old in records {
            let number = old.reference.number
            records[number] = nil
            if old.isIdle {
                old.delete()
            } else if let entity = translation.entity(old.entity) {
                let reference = ObjectReference(tag: entity.tag, number: number)
                let record = ObjectRecord(reference, entity, replacing: old)
                records[number] = record
                replace(old, by: record, translation, in: place)
            } else {
                discardRemoved(old, in: place)
            }
        }
        // The in-flight save has to refer to the new records.
        saving.inFlight?.replaceRecords { records[$0.reference.number] ?? $0 }
        for child in children { child.graph.rebind(translation) }
        withExtendedLifetime(held) {}
    }

    /// Moves the object and edits of a record to a record of a different entity or model.
    ///
    /// Edits to properties that do not exist in `place` are recorded as dropped.
    private func replace(
        _ old: ObjectRecord, by record: ObjectRecord, _ translation: ModelTranslation,
        in place: String
    ) {
        editor.removeEdited(old)
        failures.move(old, to: record, translation)
        let lost = record.adopt(old, translation)
        editor.recordDropped(lost.pending, in: place)
        saving.inFlight?.lost.record(lost.inFlight, in: place)
        if !record.pending.isEmpty { editor.addEdited(object(of: record)) }
    }

    /// Discards a record whose entity was removed with all its objects.
    ///
    /// The edits are recorded as dropped, unless they delete the object.
    private func discardRemoved(_ old: ObjectRecord, in place: String) {
        let name: Set = [old.entity.name]
        if !old.pending.isEmpty, old.pendingKind != .delete {
            editor.recordDropped(name, in: place)
        }
        if !old.inFlight.isEmpty, old.inFlightKind != .delete {
            saving.inFlight?.lost.record(name, in: place)
        }
        editor.removeEdited(old)
        old.dropPending()
        old.delete()
        failures.recordDeletion(of: old)
        reporter.notifyObservers(of: old.reference.number)
    }
}

extension ObjectGraph: Sequence {
    var underestimatedCount: Int { count }

    /// Iterates over the records in no particular order; changes made during the iteration are not
    /// visible.
    func makeIterator() -> RecordTable.Iterator { records.makeIterator() }
}
