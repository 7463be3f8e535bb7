import TandemModel

extension ManagedObjectContext {
    /// Returns the records to save after every object was validated.
    ///
    /// If objects are invalid, throws `validation` with all problems; nothing is changed.
    func validRecords() throws -> [ObjectRecord] {
        var problems = SaveProblems()
        var records: [ObjectRecord] = []
        records.reserveCapacity(edited.count)
        try edited.forEach { object in
            do { try object.validateForSave() } catch { try problems.add(error, of: object) }
            problems.list += object.record.derivedProblems
            records.append(object.record)
        }
        try problems.check()
        return records
    }

    /// Returns the problems of some properties of an object; properties that are not loaded are not
    /// checked.
    fileprivate func problems(_ slots: PropertyMask, of record: ObjectRecord) -> [ValidationProblem]
    {
        var problems: [ValidationProblem] = []
        for slot in slots {
            let property = record.entity.properties[slot]
            guard let message = problem(property, of: record) else { continue }
            problems.append(
                ValidationProblem(object: record.id, property: property.name, message: message))
        }
        return problems
    }

    private func problem(_ property: CompiledProperty, of record: ObjectRecord) -> String? {
        if property.isToMany {
            guard let relationship = property.relationship, relationship.limitsCount,
                let members = members(of: record, property.slot)
            else { return nil }
            return relationship.problem(withCount: members.count)
        }
        guard let value = record.value(property.slot) else { return nil }
        if property.relationship != nil {
            return value.isNull ? CompiledProperty.leadsNowhere : nil
        }
        return property.problem(with: value, content: { blobs[$0] })
    }

    /// Throws `deleteDenied` if a relationship with the rule `deny` has members that are not
    /// deleted.
    fileprivate func checkDenials(_ record: ObjectRecord) throws {
        for property in record.entity.properties {
            guard let relationship = property.relationship, relationship.deleteRule == .deny else {
                continue
            }
            let left = destinations(of: record, property.slot, relationship).filter {
                $0 != record.reference && records[$0.number]?.isDeleted != true
            }
            guard !left.isEmpty, let model = session?.model else { continue }
            throw TandemError.deleteDenied(
                record.id, by: property.name, left: left.map(model.id))
        }
    }

    /// Returns the loaded objects at the other end of a relationship.
    func destinations(
        of record: ObjectRecord, _ slot: Int, _ relationship: CompiledRelationship
    ) -> [ObjectReference] {
        if relationship.toMany {
            // If the members are not loaded, at least those added here are known.
            let added = record.inFlight.applied(to: [], slot)
            let known = members(of: record, slot) ?? record.pending.applied(to: added, slot)
            return known.sorted()
        }
        return record.value(slot)?.reference.map { [$0] } ?? []
    }
}

extension ObjectRecord {
    /// The properties that may violate a rule; the others are not checked.
    var doubtful: PropertyMask {
        entity.limited.union(entity.required.subtracting(pending.values.filled))
    }
}

extension ManagedObject {
    fileprivate func validateForSave() throws {
        // An object that others deleted is a conflict and is not validated.
        if record.isGone { return }
        switch record.pending.kind {
        case .insert: try validateForInsert()
        case .none: try validateForUpdate()
        case .delete where record.pending.isPredicted: break
        case .delete:
            do { try validateForDelete() } catch {
                guard (error as? TandemError)?.code == .deleteDenied else { throw error }
            }
        }
    }

    /// Checks some properties by the rules of the model, and calls the object's own validation.
    func check(_ slots: PropertyMask) throws {
        let found = slots.isEmpty ? [] : managedObjectContext?.problems(slots, of: record) ?? []
        if found.isEmpty { return try validate() }
        var problems = SaveProblems(list: found)
        do { try validate() } catch { try problems.add(error, of: self) }
        try problems.check()
    }

    func checkDenials() throws { try managedObjectContext?.checkDenials(record) }
}

/// All problems of the objects to save.
struct SaveProblems {
    var list: [ValidationProblem] = []

    /// Adds the problems of a validation error of an object; rethrows other errors.
    mutating func add(_ error: any Error, of object: ManagedObject) throws {
        guard let error = error as? TandemError, error.code == .validation else { throw error }
        list +=
            error.problems.isEmpty
            ? [ValidationProblem(object: object.id, property: nil, message: error.message)]
            : error.problems
    }

    /// Throws `validation` if there are problems.
    func check() throws {
        if !list.isEmpty { throw TandemError(.validation, problems: list) }
    }
}
