import TandemModel

extension ObjectRecord {
    /// The properties that may violate a rule; the others are not checked.
    var doubtful: PropertyMask {
        entity.limited.union(entity.required.subtracting(pending.values.filled))
    }
}

extension ManagedObject {
    /// Validates the object for the next save, according to the kind of its edits.
    func validateForSave() throws {
        // An object that others deleted is a conflict and is not validated.
        if record.isGone { return }
        switch record.pendingKind {
        case .insert: try validateForInsert()
        case .none: try validateForUpdate()
        case .delete where record.pending.isPredicted: break
        case .delete:
            do { try validateForDelete() } catch {
                guard (error as? TandemError)?.code == .deleteDenied else { throw error }
            }
        }
    }

    /// Checks the given properties against the rules of the model, and calls the object's own
    /// validation.
    func check(_ slots: PropertyMask) throws {
        let validator = managedObjectContext?.validator
        let found = slots.isEmpty ? [] : validator?.problems(slots, of: record) ?? []
        if found.isEmpty { return try validate() }
        var problems = SaveProblems(list: found)
        do { try validate() } catch { try problems.add(error, of: self) }
        try problems.check()
    }

    func checkDenials() throws { try managedObjectContext?.validator.checkDenials(record) }
}
