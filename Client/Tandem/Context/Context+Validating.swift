import TandemModel

extension ManagedObjectContext {
    /// What is to be saved, once every object said that it may be; a refusal lists all problems and leaves all as it is.
    func validRecords() throws -> [ObjectRecord] {
        var problems = SaveProblems()
        var records: [ObjectRecord] = []
        records.reserveCapacity(edited.count)
        try edited.forEach { object in
            do { try object.validateForSave() } catch { try problems.note(error, of: object) }
            problems.list += object.record.derivedProblems
            records.append(object.record)
        }
        try problems.check()
        return records
    }

    /// What is wrong with some properties of an object; what isn't held is not judged.
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

    /// Throws if a relationship of the rule `deny` leads to objects that stay.
    fileprivate func checkDenials(_ record: ObjectRecord) throws {
        for property in record.entity.properties {
            guard let relationship = property.relationship, relationship.deleteRule == .deny else {
                continue
            }
            let left = ends(of: record, property.slot, relationship).filter {
                $0 != record.reference && records[$0.number]?.isDeleted != true
            }
            guard !left.isEmpty, let model = session?.model else { continue }
            throw TandemError.deleteDenied(
                record.id, by: property.name, left: left.map(model.id))
        }
    }

    /// The objects at the other end of a relationship, as far as they are held.
    func ends(
        of record: ObjectRecord, _ slot: Int, _ relationship: CompiledRelationship
    ) -> [ObjectReference] {
        if relationship.toMany {
            // Of a list that isn't held at least those are known that were added here.
            let added = record.inFlight.applied(to: [], slot)
            let known = members(of: record, slot) ?? record.pending.applied(to: added, slot)
            return known.sorted()
        }
        return record.value(slot)?.reference.map { [$0] } ?? []
    }
}

extension ObjectRecord {
    /// The properties that may be against the rules: where no rule can be broken, nothing is looked at.
    var doubtful: PropertyMask {
        entity.limited.union(entity.required.subtracting(pending.values.filled))
    }
}

extension ManagedObject {
    fileprivate func validateForSave() throws {
        // What others deleted meanwhile is a conflict, and not to be judged.
        if record.isGone { return }
        switch record.pending.kind {
        case .insert: try validateForInsert()
        case .none: try validateForUpdate()
        case .delete where record.pending.isPreview: break
        case .delete:
            do { try validateForDelete() } catch {
                guard (error as? TandemError)?.code == .deleteDenied else { throw error }
            }
        }
    }

    /// Checks some properties by the rules of the model, and the object by its own.
    func check(_ slots: PropertyMask) throws {
        let found = slots.isEmpty ? [] : managedObjectContext?.problems(slots, of: record) ?? []
        if found.isEmpty { return try validate() }
        var problems = SaveProblems(list: found)
        do { try validate() } catch { try problems.note(error, of: self) }
        try problems.check()
    }

    func checkDenials() throws { try managedObjectContext?.checkDenials(record) }
}

/// All that is wrong with what is to be saved.
struct SaveProblems {
    var list: [ValidationProblem] = []

    /// Notes what a check of an object reported; other errors it throws.
    mutating func note(_ error: any Error, of object: ManagedObject) throws {
        guard let error = error as? TandemError, error.code == .validation else { throw error }
        list +=
            error.problems.isEmpty
            ? [ValidationProblem(object: object.id, property: nil, message: error.message)]
            : error.problems
    }

    /// Throws if anything is wrong.
    func check() throws {
        if !list.isEmpty { throw TandemError(.validation, problems: list) }
    }
}
