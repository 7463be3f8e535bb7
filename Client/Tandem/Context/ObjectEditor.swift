import TandemModel
import TandemWire

/// Manages the pending edits of a context: tracks the edited objects, mirrors relationship edits at
/// the other end, and keeps the undo stack.
final class ObjectEditor: StatefulPart {
    /// Objects with pending edits; they are retained until the edits are saved or dropped.
    private let edited = EditedObjects()
    private let undoStack: UndoStack
    /// Edits that were dropped because the current model lacks their properties; the next save
    /// reports them.
    private var droppedEdits = DroppedEdits()

    override init(_ shared: SharedByParts) {
        undoStack = UndoStack(limit: shared.core.limits.undoSteps)
        super.init(shared)
    }

    // MARK: Edited objects

    /// The objects with pending edits, in the order of their first edits.
    var editedObjects: [ManagedObject] { edited.objects }

    /// The number of objects with pending edits.
    var editedCount: Int { edited.count }

    /// Whether any object has pending edits.
    var hasPendingEdits: Bool { !edited.isEmpty }

    /// Whether there are edits to save, or dropped edits that the next save reports.
    var hasChanges: Bool {
        !droppedEdits.isEmpty || edited.objects.contains { !$0.record.pending.isEmpty }
    }

    /// Calls `body` for each object with pending edits; objects that `body` edits first are not
    /// visited.
    func forEachEdited(_ body: (ManagedObject) throws -> Void) rethrows {
        try edited.forEach(body)
    }

    /// Adds an object whose record has pending edits.
    func addEdited(_ object: ManagedObject) {
        assert(!object.record.pending.isEmpty, "Only objects with pending edits are added.")
        edited.add(object)
    }

    /// Removes the object of a record that is about to lose its pending edits.
    func removeEdited(_ record: ObjectRecord) { edited.remove(record) }

    /// Returns the objects with pending edits of a kind.
    func pending(_ kind: Edits.Kind) -> [ManagedObject] {
        edited.objects.filter { $0.record.pendingKind == kind && !$0.record.pending.isEmpty }
    }

    /// Whether this context or an ancestor has edits.
    var hasEdits: Bool {
        !edited.isEmpty || saving.inFlight != nil || parent?.editor.hasEdits ?? false
    }

    /// The records with edits that are pending or in flight.
    var editedRecords: [ObjectRecord] {
        edited.objects.map(\.record) + (saving.inFlight?.records ?? [])
    }

    /// Records the names of edited properties that do not exist in `place`.
    func recordDropped(_ names: Set<String>, in place: String) {
        droppedEdits.record(names, in: place)
    }

    /// Records the edits that were dropped from a save that was not applied.
    func recordDropped(_ lost: DroppedEdits) { droppedEdits.merge(lost) }

    /// Throws `schemaMismatch` once if edits were dropped; the next save can then save the other
    /// edits.
    func checkDroppedEdits() throws(TandemError) {
        guard let error = droppedEdits.error else { return }
        droppedEdits = DroppedEdits()
        throw error
    }

    // MARK: Values and links

    /// Changes the pending edits of a record, in one slot or as a whole.
    ///
    /// Maintains the undo stack and the list of edited objects, and notifies observers.
    func edit(_ record: ObjectRecord, _ slot: Int? = nil, _ change: (inout Edits) -> Void) {
        let object = graph.object(of: record)
        let slots = slot.map { PropertyMask(CollectionOfOne($0)) }
        reporter.touch(record, .edit)
        undoStack.register(record)
        reporter.observed.willChange(record.reference.number, slots)
        switch record.edit(edited.nextSerial, change) {
        case .none: break
        case .first: edited.add(object)
        case .lastRemoved:
            edited.remove(record)
            record.endEdits()
        }
        // Observers that were notified of the imminent change may have made lists read the object.
        listUpdater.didEdit(record.reference)
        reporter.observed.didChange(record.reference.number, slots)
        reporter.notifyChildren(of: record.reference.number, slots)
    }

    /// Sets a value, and mirrors an edit to a to-one relationship at its old and new target.
    ///
    /// A deleted object accepts no edits.
    func set(_ value: PropertyValue, _ slot: Int, of record: ObjectRecord) {
        guard !record.isGone else { return }
        // Setting the stored value again removes the edit.
        let isBack =
            record.isBased && record.inFlight.values[slot] == nil
            && record.committedValue(slot) == value.inRow
        let edited = isBack ? nil : value
        undoStack.begin()
        defer { undoStack.end() }
        guard let relationship = record.entity.properties[slot].relationship else {
            edit(record, slot) { $0.values[slot] = edited }
            return setFolded(from: value, slot, of: record)
        }
        unlink(record, slot, relationship)
        edit(record, slot) { $0.values[slot] = edited }
        if let target = value.reference { link(record, to: target, relationship) }
    }

    /// Removes the edit to a value, even if the underlying value is not loaded.
    func unset(_ slot: Int, of record: ObjectRecord) {
        if let below = record.committedValue(slot) { return set(below, slot, of: record) }
        if let relationship = record.entity.properties[slot].relationship {
            unlink(record, slot, relationship)
        }
        edit(record, slot) { $0.values[slot] = nil }
    }

    /// Removes a record from the other end of its to-one relationship.
    private func unlink(_ record: ObjectRecord, _ slot: Int, _ relationship: CompiledRelationship) {
        guard let old = record.value(slot)?.reference, let other = graph.known(old) else { return }
        let inverse = relationship.inverseSlot
        if relationship.inverseToMany {
            removeMember(record, from: inverse, of: other)
        } else if other.value(inverse)?.reference?.number == record.reference.number {
            edit(other, inverse) { $0.values[inverse] = .null }
        }
    }

    /// Adds a record to the other end of its to-one relationship.
    private func link(
        _ record: ObjectRecord, to target: ObjectReference, _ relationship: CompiledRelationship
    ) {
        let other = graph.record(target)
        let inverse = relationship.inverseSlot
        if relationship.inverseToMany {
            return addMember(record, to: inverse, of: other)
        }
        let slot = other.entity.properties[inverse].relationship?.inverseSlot ?? 0
        if let rival = other.value(inverse)?.reference, rival.number != record.reference.number,
            let loser = graph.known(rival)
        {
            edit(loser, slot) { $0.values[slot] = .null }
        }
        edit(other, inverse) { $0.values[inverse] = .reference(record.reference) }
    }

    /// Adds a member to a to-many relationship, at both ends.
    func add(_ member: ObjectRecord, to slot: Int, of record: ObjectRecord) {
        guard let relationship = record.entity.properties[slot].relationship else { return }
        if !relationship.inverseToMany {
            return set(.reference(record.reference), relationship.inverseSlot, of: member)
        }
        if graph.members(of: record, slot)?.contains(member.reference) == true { return }
        undoStack.begin()
        defer { undoStack.end() }
        addMember(member, to: slot, of: record)
        addMember(record, to: relationship.inverseSlot, of: member)
    }

    /// Removes a member from a to-many relationship, at both ends.
    func remove(_ member: ObjectRecord, from slot: Int, of record: ObjectRecord) {
        guard let relationship = record.entity.properties[slot].relationship else { return }
        if let known = graph.members(of: record, slot), !known.contains(member.reference) { return }
        undoStack.begin()
        defer { undoStack.end() }
        if relationship.inverseToMany {
            removeMember(member, from: slot, of: record)
            removeMember(record, from: relationship.inverseSlot, of: member)
        } else {
            set(.null, relationship.inverseSlot, of: member)
        }
    }

    private func addMember(_ member: ObjectRecord, to slot: Int, of record: ObjectRecord) {
        let below = record.membersInFlight(slot)
        edit(record, slot) { $0.add(member.reference, to: slot, below: below) }
    }

    private func removeMember(_ member: ObjectRecord, from slot: Int, of record: ObjectRecord) {
        let below = record.membersInFlight(slot)
        edit(record, slot) { $0.remove(member.reference, from: slot, below: below) }
    }

    /// Removes all references to an object that was never saved and will not be saved.
    func unlinkAll(_ record: ObjectRecord) {
        for property in record.entity.properties {
            guard let relationship = property.relationship else { continue }
            if !relationship.toMany {
                set(.null, property.slot, of: record)
                continue
            }
            for member in graph.members(of: record, property.slot) ?? [] {
                guard let other = graph.known(member) else { continue }
                remove(other, from: property.slot, of: record)
            }
        }
    }

    /// Updates the folded strings derived from a value that was set.
    private func setFolded(from value: PropertyValue, _ source: Int, of record: ObjectRecord) {
        for derivation in record.entity.derivations
        where derivation.kind == .folded && derivation.source == source {
            set(CompiledDerivation.folded(value), derivation.slot, of: record)
        }
    }

    /// Replaces the members of an ordered relationship, with the fewest edits that produce the new
    /// order.
    ///
    /// A member that occurs twice gets the position of its first occurrence. Deleted objects are
    /// left out.
    func setMembers(_ wanted: [ObjectRecord], _ slot: Int, of record: ObjectRecord) {
        guard !record.isGone else { return }
        undoStack.begin()
        defer { undoStack.end() }
        let before = graph.members(of: record, slot) ?? []
        let news = Set(wanted.map(\.reference))
        for member in before.subtracting(news).sorted() {
            remove(graph.record(member), from: slot, of: record)
        }
        for member in wanted where !before.contains(member.reference) {
            add(member, to: slot, of: record)
        }
        arrange(wanted.map(\.reference), slot, of: record)
    }

    /// Assigns new ranks to the members whose ranks do not fit the order.
    private func arrange(_ wanted: [ObjectReference], _ slot: Int, of record: ObjectRecord) {
        var left = graph.members(of: record, slot) ?? []
        let order = wanted.filter { left.remove($0) != nil }
        place(
            RankPlan(order.map { graph.rankedMember($0, in: record, slot) }).changed, slot,
            of: record
        )
    }

    /// Sets the ranks of members of an ordered relationship.
    func place(_ places: [ObjectReference: Rank], _ slot: Int, of record: ObjectRecord) {
        guard !record.isGone, !places.isEmpty else { return }
        edit(record, slot) { $0.place(places, in: slot) }
    }

    // MARK: Inserting and deleting

    /// Creates an object of an entity.
    func insert<Object: ManagedObject>(
        _ name: String, as type: Object.Type, _ calls: DaemonCalls
    ) async throws -> Object {
        while true {
            let model = try await connectedSession(calls).model
            let entity = try core.entity(named: name, in: model)
            let known = core.type(for: entity, in: model)
            guard known is Object.Type else {
                throw TandemError(
                    .usage,
                    "objects of the entity \(name) are of the class \(known), not of \(type)")
            }
            if let number = connection.nextNumber() {
                guard let object = insert(entity, number) as? Object else {
                    fatalError("Objects of \(name) are of the class \(known).")
                }
                return object
            }
            try await calls.leaseNumbers()
        }
    }

    private func insert(_ entity: CompiledEntity, _ number: ObjectNumber) -> ManagedObject {
        let record = graph.newRecord(ObjectReference(tag: entity.tag, number: number), entity)
        // Undoing the insert restores this state, in which the object does not exist.
        record.markMissing()
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
        record.markMissing(false)
        return graph.object(of: record)
    }

    /// Creates a record for an object that a child context inserted, with its derived values.
    func insert(childsObject reference: ObjectReference, _ entity: CompiledEntity) {
        let new = graph.newRecord(reference, entity)
        // Undoing the insert restores this state, in which the object does not exist.
        new.markMissing()
        edit(new) { edits in
            edits.kind = .insert
            for slot in entity.derived where !entity.defaults[slot].isNull {
                edits.values[slot] = entity.defaults[slot]
            }
        }
        new.markMissing(false)
    }

    /// Marks an object for deletion, and applies the delete rules; discards a new object.
    func delete(_ record: ObjectRecord) {
        undoStack.begin()
        defer { undoStack.end() }
        if record.pending.isPredicted { return edit(record) { $0.isPredicted = false } }
        guard !record.isDeleted else { return }
        var waiting = cascaded(by: record)
        delete(record, isPredicted: false)
        while let next = waiting.popLast() {
            guard !next.record.isDeleted else { continue }
            let more = cascaded(by: next.record)
            delete(next.record, isPredicted: next.isStored)
            waiting += more
        }
    }

    private func delete(_ record: ObjectRecord, isPredicted: Bool) {
        let others = allEnds(of: record)
        if record.pendingKind == .insert {
            unlinkAll(record)
            undoStack.register(record)
            discard(record)
            record.markMissing()
        } else {
            edit(record) { edits in
                edits = Edits()
                edits.kind = .delete
                edits.isPredicted = isPredicted
            }
        }
        notifyEnds(others)
    }

    /// Notifies the observers of objects related to an object that appears or disappears.
    func notifyEnds(of record: ObjectRecord) { notifyEnds(allEnds(of: record)) }

    private func notifyEnds(_ ends: [(reference: ObjectReference, slot: Int)]) {
        for (end, slot) in ends {
            reporter.notifyObservers(of: end.number, PropertyMask(CollectionOfOne(slot)))
        }
    }

    /// Returns the loaded objects at the other ends of all relationships, each with the slot of the
    /// inverse.
    private func allEnds(of record: ObjectRecord) -> [(reference: ObjectReference, slot: Int)] {
        record.entity.properties.flatMap { property in
            property.relationship.map { relationship in
                graph.destinations(of: record, property.slot, relationship).map {
                    ($0, relationship.inverseSlot)
                }
            } ?? []
        }
    }

    /// Returns the loaded objects that a deletion cascades to.
    ///
    /// `isStored` is true if the store has the link, so that the daemon will find it.
    private func cascaded(by record: ObjectRecord) -> [(record: ObjectRecord, isStored: Bool)] {
        record.entity.properties.flatMap { property -> [(record: ObjectRecord, isStored: Bool)] in
            guard let relationship = property.relationship, relationship.deleteRule == .cascade
            else { return [] }
            let (slot, stored) = (property.slot, record.membersBelow(property.slot))
            return graph.destinations(of: record, slot, relationship).map { end in
                let isStored =
                    relationship.toMany
                    ? stored?.contains(end) == true
                    : record.committedValue(slot)?.reference == end
                return (graph.record(end), isStored)
            }
        }
    }

    /// Drops the pending edits of a record.
    func discard(_ record: ObjectRecord) {
        reporter.touch(record, .refresh)
        edited.remove(record)
        failures.forgetUnknown(of: record)
        let wasDeleted = record.pendingKind == .delete
        record.dropPending()
        reporter.notifyObservers(of: record.reference.number)
        if wasDeleted { notifyEnds(of: record) }
    }

    /// Drops all pending edits.
    func rollback() {
        undoStack.clear()
        droppedEdits = DroppedEdits()
        failures.forgetDropped()
        for object in edited.objects {
            let record = object.record
            reporter.touch(record, .refresh)
            if record.pendingKind == .insert { record.markMissing() }
            discard(record)
        }
        edited.removeAll()
    }

    // MARK: Changes by others

    /// Drops the edits to an object that others deleted.
    func discardEdits(of number: ObjectNumber) {
        if let record = graph[number] {
            undoStack.forget(record)
            discard(record)
        }
        for child in children { child.editor.discardEdits(of: number) }
    }

    /// Applies the outcome of an insert whose new object was discarded or replaced by an existing
    /// object.
    func follow(_ lost: ObjectReference, to outcome: ObjectReference?) {
        if let record = graph[lost.number] {
            undoStack.forget(record)
            edited.remove(record)
            if let outcome {
                let existing = graph.record(outcome)
                existing.takeSeen(of: record)
                move(record, to: existing)
            }
            record.dropPending()
            listUpdater.didEdit(lost)
            reporter.notifyObservers(of: lost.number)
        }
        for child in children { child.editor.follow(lost, to: outcome) }
    }

    /// Drops the edit to a property; for a relationship, at both ends.
    func dropEdit(of slot: Int, _ record: ObjectRecord) {
        guard record.entity.properties[slot].isToMany else { return unset(slot, of: record) }
        let members = { (edits: [Int: Set<ObjectReference>]) in (edits[slot] ?? []).sorted() }
        let inverse = record.entity.properties[slot].relationship
        for member in members(record.pending.added) + members(record.pending.removed) {
            let other = graph.record(member)
            if let inverse, !inverse.inverseToMany {
                unset(inverse.inverseSlot, of: other)
            } else if record.pending.added[slot]?.contains(member) == true {
                remove(other, from: slot, of: record)
            } else {
                add(other, to: slot, of: record)
            }
        }
        edit(record, slot) { edits in
            edits.added[slot] = nil
            edits.removed[slot] = nil
            edits.ranks[slot] = nil
        }
    }

    /// Replaces a new object with an existing one, including in edits made while the save was in
    /// flight.
    func move(_ lost: ObjectRecord, to existing: ObjectRecord) {
        let (old, new) = (lost.reference, existing.reference)
        graph.remove(lost)
        if let object = lost.object {
            if existing.object == nil { existing.bind(object) }
            object.rebind(to: existing)
        }
        if !lost.pending.isEmpty {
            edited.remove(existing)
            existing.takeEdits(of: lost)
            if !existing.pending.isEmpty { edited.add(graph.object(of: existing)) }
        }
        for object in edited.objects {
            object.record.replace(old, by: new)
            listUpdater.didEdit(object.record.reference)
        }
        undoStack.replace(old, by: new)
        listUpdater.didEdit(new)
    }

    // MARK: Undo

    /// Whether edits can be undone.
    var allowsUndo: Bool {
        get { undoStack.isEnabled }
        set {
            if !newValue { undoStack.clear() }
            undoStack.isEnabled = newValue
        }
    }

    var canUndo: Bool { undoStack.canUndo }

    var canRedo: Bool { undoStack.canRedo }

    /// Combines all edits made by `body` into one undo step.
    func undoGroup<Result>(_ body: () throws -> Result) rethrows -> Result {
        undoStack.begin()
        defer { undoStack.end() }
        return try body()
    }

    /// Discards all undo and redo steps.
    func clearUndo() { undoStack.clear() }

    /// Discards the undo and redo entries of an object that no longer exists.
    func forgetUndo(of record: ObjectRecord) { undoStack.forget(record) }

    /// Undoes or redoes the last step; does nothing if there is none.
    func exchange(isUndo: Bool) {
        guard let group = undoStack.pop(isUndo: isUndo) else { return }
        var counterpart: [UndoStack.Entry] = []
        for entry in group.reversed() {
            let record = entry.record
            counterpart.append(UndoStack.Entry(record))
            edited.remove(record)
            reporter.touch(record, .edit)
            record.replacePending(by: entry.edits)
            record.markMissing(entry.isMissing)
            let object = graph.object(of: record)
            if !record.pending.isEmpty { edited.add(object) }
            reporter.notifyObservers(of: record.reference.number)
            notifyEnds(of: record)
        }
        undoStack.push(counterpart, isUndo: isUndo)
    }
}
