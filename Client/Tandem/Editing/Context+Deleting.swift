import TandemModel

extension ManagedObjectContext {
    /// Marks an object for deletion by the next save; a new object is discarded at once.
    ///
    /// The effects of delete rules are shown at once, as far as the context has loaded the objects.
    /// To-one relationships to the object become null, and to-many relationships lose it. With the
    /// rule `cascade`, loaded objects at the other end are marked as well, and so on from there.
    ///
    /// The daemon decides at the save: it also deletes related objects that the context has not
    /// loaded, and keeps those that others have moved elsewhere in the meantime. With the rule
    /// `deny` it refuses the save with `deleteDenied` (see ``ManagedObject/validateForDelete()``).
    /// Undo reverts all of this.
    public func delete(_ object: ManagedObject) {
        let record = object.record
        precondition(
            object.managedObjectContext === self,
            "\(object.id) belongs to another context; delete it there.")
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
        if record.pending.kind == .insert {
            unlinkAll(record)
            undoStack.register(record)
            discard(record)
            record.isMissing = true
        } else {
            edit(record) { edits in
                edits = Edits()
                edits.kind = .delete
                edits.isPredicted = isPredicted
            }
        }
        notifyEnds(others)
    }

    /// Notifies observers of the objects related to an object that appears or disappears.
    func notifyEnds(of record: ObjectRecord) { notifyEnds(allEnds(of: record)) }

    private func notifyEnds(_ ends: [(reference: ObjectReference, slot: Int)]) {
        for (end, slot) in ends {
            notifyObservers(of: end.number, PropertyMask(CollectionOfOne(slot)))
        }
    }

    /// Returns the loaded objects at the other ends of all relationships, each with the slot of the
    /// inverse.
    private func allEnds(of record: ObjectRecord) -> [(reference: ObjectReference, slot: Int)] {
        record.entity.properties.flatMap { property in
            property.relationship.map { relationship in
                destinations(of: record, property.slot, relationship).map {
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
            return destinations(of: record, slot, relationship).map { end in
                let isStored =
                    relationship.toMany
                    ? stored?.contains(end) == true
                    : record.committedValue(slot)?.reference == end
                return (self.record(end), isStored)
            }
        }
    }
}
