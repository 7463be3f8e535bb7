import TandemModel

extension ManagedObjectContext {
    /// Marks an object for deletion by the next save; a new object is simply forgotten.
    ///
    /// What delete rules lead to shows at once, as far as the context holds it: relationships that lead to the object lead nowhere,
    /// and those of the rule `cascade` take along the objects at their other end, where these are loaded, and what hangs on
    /// them. The daemon has the last word at the save: it deletes what the context does not hold, spares what others moved elsewhere
    /// by then, and refuses with `deleteDenied` for the rule `deny` (see ``ManagedObject/validateForDelete()``). Undo takes all of it back.
    public func delete(_ object: ManagedObject) {
        let record = object.record
        precondition(
            object.managedObjectContext === self,
            "\(object.id) belongs to another context; delete it there.")
        undoStack.begin()
        defer { undoStack.end() }
        if record.pending.isPreview { return edit(record) { $0.isPreview = false } }
        guard !record.isDeleted else { return }
        var waiting = cascaded(by: record)
        delete(record, isPreview: false)
        while let next = waiting.popLast() {
            guard !next.record.isDeleted else { continue }
            let more = cascaded(by: next.record)
            delete(next.record, isPreview: next.isStored)
            waiting += more
        }
    }

    private func delete(_ record: ObjectRecord, isPreview: Bool) {
        let others = allEnds(of: record)
        if record.pending.kind == .insert {
            unlinkAll(record)
            undoStack.note(record)
            discard(record)
            record.isMissing = true
        } else {
            edit(record) { edits in
                edits = Edits()
                edits.kind = .delete
                edits.isPreview = isPreview
            }
        }
        note(others)
    }

    /// Lets those look again who observe what is at the other ends of an object that comes or goes.
    func noteEnds(of record: ObjectRecord) { note(allEnds(of: record)) }

    private func note(_ ends: [(reference: ObjectReference, slot: Int)]) {
        for (end, slot) in ends {
            notifyObservers(of: end.number, PropertyMask(CollectionOfOne(slot)))
        }
    }

    /// What is at the other ends of all relationships, as far as it is held, with the slot that leads back.
    private func allEnds(of record: ObjectRecord) -> [(reference: ObjectReference, slot: Int)] {
        record.entity.properties.flatMap { property in
            property.relationship.map { relationship in
                ends(of: record, property.slot, relationship).map {
                    ($0, relationship.inverseSlot)
                }
            } ?? []
        }
    }

    /// What goes with an object, as far as it is held, and whether the store knows the link, so that the daemon finds it.
    private func cascaded(by record: ObjectRecord) -> [(record: ObjectRecord, isStored: Bool)] {
        record.entity.properties.flatMap { property -> [(record: ObjectRecord, isStored: Bool)] in
            guard let relationship = property.relationship, relationship.deleteRule == .cascade
            else { return [] }
            let (slot, stored) = (property.slot, record.membersBelow(property.slot))
            return ends(of: record, slot, relationship).map { end in
                let isStored =
                    relationship.toMany
                    ? stored?.contains(end) == true
                    : record.committedValue(slot)?.reference == end
                return (self.record(end), isStored)
            }
        }
    }
}
