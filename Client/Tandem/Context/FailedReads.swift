import TandemModel

/// The properties that could not be loaded when they were read, and the edits that may be computed from the result.
///
/// A failed read returns null, or no members. No save sends edits of the object until it is loaded. Then the edits of properties
/// whose read had failed are dropped, and the next save reports them. A property that was set without being read keeps its edit.
struct FailedReads {
    private var slots: [ObjectNumber: PropertyMask] = [:]
    /// The values among them that were loaded, and that the type of their property can't show.
    private var unknown: [ObjectNumber: SlotValues] = [:]
    /// Edits to drop as soon as no merge is under way.
    private var doubtful: [(record: ObjectRecord, slots: PropertyMask)] = []
    private var dropped: [ValidationProblem] = []
    /// Why the last read failed.
    private var cause: TandemError?

    /// Whether the next save has to report dropped edits.
    var hasDropped: Bool { !dropped.isEmpty }

    /// The properties of an object that were read without success.
    func slots(of record: ObjectRecord) -> PropertyMask {
        slots[record.reference.number] ?? PropertyMask()
    }

    /// Notes that a property was read without success.
    mutating func note(_ slot: Int, of record: ObjectRecord, _ cause: TandemError?) {
        slots[record.reference.number, default: PropertyMask()].insert(slot)
        record.isUnreadable = true
        if let cause { self.cause = cause }
    }

    /// Records a value that the type of its property can't show.
    mutating func note(
        unknown value: Value, _ slot: Int, of record: ObjectRecord, _ cause: TandemError
    ) {
        unknown[record.reference.number, default: SlotValues()][slot] = value
        note(slot, of: record, cause)
    }

    /// The value of a property that its type can't show; nil if there is none.
    func unknownValue(_ slot: Int, of record: ObjectRecord) -> Value? {
        unknown[record.reference.number]?[slot]
    }

    /// Forgets values that can't be shown, of an object whose edits are dropped.
    mutating func forgetUnknown(of record: ObjectRecord) {
        guard let values = unknown.removeValue(forKey: record.reference.number) else { return }
        drop(values.mask, of: record)
    }

    private mutating func drop(_ readable: PropertyMask, of record: ObjectRecord) {
        let rest = slots(of: record).subtracting(readable)
        slots[record.reference.number] = rest.isEmpty ? nil : rest
        record.isUnreadable = !rest.isEmpty
    }

    /// Forgets the failed reads of an object that are `readable` by now; edits of these properties become doubtful.
    mutating func settle(_ record: ObjectRecord, _ readable: PropertyMask) {
        for slot in readable where unknownValue(slot, of: record) != nil {
            unknown[record.reference.number]?[slot] = nil
        }
        drop(readable, of: record)
        let edits = record.pending.mask.intersection(readable)
        if !edits.isEmpty { doubtful.append((record, edits)) }
    }

    /// The edits to drop; afterwards there are none.
    mutating func drainDoubtful() -> [(record: ObjectRecord, slots: PropertyMask)] {
        defer { doubtful = [] }
        return doubtful
    }

    /// Notes that the edits of an object's property were dropped.
    mutating func noteDropped(_ slot: Int, of record: ObjectRecord) {
        dropped.append(problem(slot, of: record))
    }

    /// Forgets the dropped edits, after a rollback.
    mutating func forgetDropped() { dropped = [] }

    /// Moves the failed reads of an object to the slots of another model.
    mutating func move(
        _ old: ObjectRecord, to record: ObjectRecord, _ translation: ModelTranslation
    ) {
        guard let before = slots.removeValue(forKey: old.reference.number) else { return }
        unknown[old.reference.number] = nil
        for slot in before {
            let property = old.entity.properties[slot]
            guard let same = translation.property(property, in: record.entity) else { continue }
            note(same.slot, of: record, nil)
        }
    }

    /// Throws `unreadable` if one of these objects has edits and was read without success.
    func check(_ records: some Sequence<ObjectRecord>) throws(TandemError) {
        let problems = records.filter { $0.isUnreadable && isEdited($0) }.flatMap { record in
            slots(of: record).map { problem($0, of: record) }
        }
        guard !problems.isEmpty else { return }
        throw error(
            problems,
            "edits may be computed from it, so nothing was saved; refresh the object or roll back")
    }

    /// Throws `unreadable` if edits were dropped, once.
    mutating func checkDropped() throws(TandemError) {
        guard hasDropped else { return }
        defer { dropped = [] }
        throw error(
            dropped,
            "what was set afterwards was dropped and nothing was saved; read it, set it again and save"
        )
    }

    /// Whether more was edited than the other end of a relationship that was never read.
    private func isEdited(_ record: ObjectRecord) -> Bool {
        let edits = record.pending
        if edits.kind != .none || !edits.values.isEmpty { return true }
        let failed = slots(of: record)
        return edits.mask.contains { slot in
            failed.contains(slot)
                || record.entity.properties[slot].relationship?.inverseToMany == true
        }
    }

    private func problem(_ slot: Int, of record: ObjectRecord) -> ValidationProblem {
        ValidationProblem(
            object: record.id, property: record.entity.properties[slot].name,
            message: "it could not be read")
    }

    private func error(_ problems: [ValidationProblem], _ advice: String) -> TandemError {
        let names = problems.map { "\($0.object).\($0.property ?? "")" }.sorted()
        let reason = cause.map { " (\($0))" } ?? ""
        var error = TandemError(
            .unreadable,
            "\(names.joined(separator: ", ")) could not be read\(reason); \(advice)")
        error.problems = problems
        return error
    }
}

extension ManagedObjectContext {
    /// Notes that a property was read and could not be loaded; an object that is gone reads as null, which is no failure.
    func recordFailedRead(_ slot: Int, of record: ObjectRecord) {
        guard !record.isGone else { return }
        failedReads.note(slot, of: record, faultFailure)
    }

    /// Records a value that the type of its property can't show.
    func recordUnknownValue(
        _ value: Value, _ slot: Int, of record: ObjectRecord, _ type: Any.Type
    ) {
        let error = TandemError(
            .unreadable,
            "\(record.id).\(record.entity.properties[slot].name) is \(value.json.text), which is no value of "
                + "\(type); declare the property as optional to read nil")
        valueFailure = error
        guard failedReads.unknownValue(slot, of: record) != value else { return }
        if let debug { debug.tell(.fault, name, since: debug.now, [("error", "\(error)")]) }
        if faultFailure == nil { faultFailure = error }
        failedReads.note(unknown: value, slot, of: record, error)
    }

    /// Forgets the failed reads of what is loaded by now, here and in children.
    func noteLoaded(_ record: ObjectRecord) {
        if record.isUnreadable {
            let readable = PropertyMask(
                failedReads.slots(of: record).filter { isLoaded($0, of: record) })
            failedReads.settle(record, readable)
            // What was undone may be computed from the failed read, too.
            if !readable.isEmpty, record.steps > 0 { undoStack.clear() }
        }
        for child in children.compactMap(\.value) {
            guard let record = child.records[record.reference.number] else { continue }
            child.noteLoaded(record)
        }
    }

    private func isLoaded(_ slot: Int, of record: ObjectRecord) -> Bool {
        if record.isGone { return true }
        if record.entity.properties[slot].isToMany { return record.membersBelow(slot) != nil }
        guard let value = record.committedValue(slot) else { return false }
        if failedReads.unknownValue(slot, of: record) == value { return false }
        return value.outside.map { root.blobs[$0] != nil } ?? true
    }

    /// Drops edits that may be computed from failed reads, here and in children.
    func dropDoubtfulEdits() {
        for (record, slots) in failedReads.drainDoubtful() where !record.isGone {
            for slot in slots {
                failedReads.noteDropped(slot, of: record)
                dropEdit(of: slot, record)
            }
            undoStack.clear()
        }
        for child in children { child.value?.dropDoubtfulEdits() }
    }

    private func dropEdit(of slot: Int, _ record: ObjectRecord) {
        guard record.entity.properties[slot].isToMany else { return unset(slot, of: record) }
        let members = { (edits: [Int: Set<ObjectReference>]) in (edits[slot] ?? []).sorted() }
        let inverse = record.entity.properties[slot].relationship
        for member in members(record.pending.added) + members(record.pending.removed) {
            let other = self.record(member)
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
}

extension ManagedObjectContext {
    /// Tries to load what could not be loaded when it was read; failing again, it stays unreadable.
    func loadAgain(_ record: ObjectRecord) {
        let members = failedReads.slots(of: record).filter {
            record.entity.properties[$0].isToMany && record.membersBelow($0) == nil
        }
        fire { context in
            try context.loadStep(
                record.isFault ? [record.reference] : [],
                members: members.map { (record.reference, $0) })
        }
        for slot in failedReads.slots(of: record) {
            guard let blob = record.committedValue(slot)?.outside else { continue }
            _ = content(of: blob)
        }
        noteLoaded(record)
        root.dropDoubtfulEdits()
    }

    /// Throws `unreadable` if a save would send edits that may be computed from failed reads, or if such edits were dropped.
    func checkFailedReads() throws(TandemError) {
        root.dropDoubtfulEdits()
        do {
            try failedReads.check(edited.objects.lazy.map(\.record))
            try failedReads.checkDropped()
        } catch {
            // This error contains the failure that the next call would throw.
            faultFailure = nil
            throw error
        }
    }
}
