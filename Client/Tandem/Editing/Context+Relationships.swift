import TandemModel

extension ManagedObjectContext {
    /// Returns the members of a to-many relationship, or nil if they have to be loaded first.
    ///
    /// The result includes the edits of both ends.
    func members(of record: ObjectRecord, _ slot: Int) -> Set<ObjectReference>? {
        guard let relationship = record.entity.properties[slot].relationship,
            let below = record.membersBelow(slot)
        else { return nil }
        if relationship.inverseToMany {
            return record.members(slot)?.filter { records[$0.number]?.isDeleted != true }
        }
        let added = [record.inFlight, record.pending].compactMap { $0.added[slot] }
        return added.reduce(below) { $0.union($1) }.filter { member in
            guard let other = records[member.number] else { return below.contains(member) }
            if other.isDeleted { return false }
            // The edit of the to-one end decides; the edit at this end may be only mirrored.
            guard let value = other.editedValues[relationship.inverseSlot] else {
                return below.contains(member)
            }
            return value.reference?.number == record.reference.number
        }
    }

    /// Sets a value, and mirrors the edit of a to-one relationship at its other ends.
    ///
    /// A deleted object accepts no edits.
    func set(_ value: Value, _ slot: Int, of record: ObjectRecord) {
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

    /// Removes the edit of a value, even if the value below it is not loaded.
    func unset(_ slot: Int, of record: ObjectRecord) {
        if let below = record.committedValue(slot) { return set(below, slot, of: record) }
        if let relationship = record.entity.properties[slot].relationship {
            unlink(record, slot, relationship)
        }
        edit(record, slot) { $0.values[slot] = nil }
    }

    /// Removes a record from the other end of its to-one relationship.
    private func unlink(_ record: ObjectRecord, _ slot: Int, _ relationship: CompiledRelationship) {
        guard let old = record.value(slot)?.reference, let other = known(old) else { return }
        let inverse = relationship.inverseSlot
        if relationship.inverseToMany {
            lose(record, from: inverse, of: other)
        } else if other.value(inverse)?.reference?.number == record.reference.number {
            edit(other, inverse) { $0.values[inverse] = .null }
        }
    }

    /// Adds a record to the other end of its to-one relationship.
    private func link(
        _ record: ObjectRecord, to target: ObjectReference, _ relationship: CompiledRelationship
    ) {
        let other = self.record(target)
        let inverse = relationship.inverseSlot
        if relationship.inverseToMany {
            return gain(record, to: inverse, of: other)
        }
        let slot = other.entity.properties[inverse].relationship?.inverseSlot ?? 0
        if let rival = other.value(inverse)?.reference, rival.number != record.reference.number,
            let loser = known(rival)
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
        if members(of: record, slot)?.contains(member.reference) == true { return }
        undoStack.begin()
        defer { undoStack.end() }
        gain(member, to: slot, of: record)
        gain(record, to: relationship.inverseSlot, of: member)
    }

    /// Removes a member from a to-many relationship, at both ends.
    func remove(_ member: ObjectRecord, from slot: Int, of record: ObjectRecord) {
        guard let relationship = record.entity.properties[slot].relationship else { return }
        if let known = members(of: record, slot), !known.contains(member.reference) { return }
        undoStack.begin()
        defer { undoStack.end() }
        if relationship.inverseToMany {
            lose(member, from: slot, of: record)
            lose(record, from: relationship.inverseSlot, of: member)
        } else {
            set(.null, relationship.inverseSlot, of: member)
        }
    }

    private func gain(_ member: ObjectRecord, to slot: Int, of record: ObjectRecord) {
        let below = record.membersInFlight(slot)
        edit(record, slot) { $0.add(member.reference, to: slot, below: below) }
    }

    private func lose(_ member: ObjectRecord, from slot: Int, of record: ObjectRecord) {
        let below = record.membersInFlight(slot)
        edit(record, slot) { $0.remove(member.reference, from: slot, below: below) }
    }

    /// Removes all references to an object that was never saved and will not be.
    func unlinkAll(_ record: ObjectRecord) {
        for property in record.entity.properties {
            guard let relationship = property.relationship else { continue }
            if !relationship.toMany {
                set(.null, property.slot, of: record)
                continue
            }
            for member in members(of: record, property.slot) ?? [] {
                guard let other = known(member) else { continue }
                remove(other, from: property.slot, of: record)
            }
        }
    }

    /// Changes the pending edits of a record, in one slot or as a whole.
    ///
    /// Maintains the undo stack and the list of edited objects, and notifies observers.
    func edit(_ record: ObjectRecord, _ slot: Int? = nil, _ change: (inout Edits) -> Void) {
        let object = object(of: record)
        let slots = slot.map { PropertyMask(CollectionOfOne($0)) }
        touch(record, .edit)
        undoStack.register(record)
        observed.willChange(record.reference.number, slots)
        switch record.pending.edit(change) {
        case .none: break
        case .first:
            record.pending.serial = edited.nextSerial()
            edited.add(object)
            record.recordSeen()
        case .gone:
            edited.remove(record)
            record.pending.serial = 0
        }
        // Observers that were notified of the imminent change may have made lists read the object.
        didEdit(record.reference)
        observed.didChange(record.reference.number, slots)
        notifyChildren(of: record.reference.number, slots)
    }
}
