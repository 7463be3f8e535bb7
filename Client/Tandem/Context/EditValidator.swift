import TandemModel

/// Validates the edits of a context before a save.
struct EditValidator: ContextPart {
    let context: ManagedObjectContext

    /// Validates every edited object, and returns the records to save.
    ///
    /// Throws `validation` with the problems of all objects; nothing is changed.
    func validRecords() throws -> [ObjectRecord] {
        var problems = SaveProblems()
        var records: [ObjectRecord] = []
        records.reserveCapacity(editor.editedCount)
        try editor.forEachEdited { object in
            do { try object.validateForSave() } catch { try problems.add(error, of: object) }
            problems.list += object.record.derivedProblems
            records.append(object.record)
        }
        try problems.check()
        return records
    }

    /// Returns the problems of the given properties of an object; properties that are not loaded
    /// are skipped.
    func problems(_ slots: PropertyMask, of record: ObjectRecord) -> [ValidationProblem] {
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
                let members = graph.members(of: record, property.slot)
            else { return nil }
            return relationship.problem(withCount: members.count)
        }
        guard let value = record.value(property.slot) else { return nil }
        if property.relationship != nil {
            return value.isNull ? CompiledProperty.missingObjectMessage : nil
        }
        return property.problem(with: value, content: { loader.cachedContent(of: $0) })
    }

    /// Throws `deleteDenied` if a relationship with the rule `deny` has members that are not
    /// deleted.
    func checkDenials(_ record: ObjectRecord) throws {
        for property in record.entity.properties {
            guard let relationship = property.relationship, relationship.deleteRule == .deny else {
                continue
            }
            let left = graph.destinations(of: record, property.slot, relationship).filter {
                $0 != record.reference && graph[$0.number]?.isDeleted != true
            }
            guard !left.isEmpty, let model = session?.model else { continue }
            throw TandemError.deleteDenied(
                record.id, by: property.name, left: left.map(model.id))
        }
    }
}

/// The validation problems of all objects to save.
struct SaveProblems {
    var list: [ValidationProblem] = []

    /// Adds the problems of a validation error thrown for an object; rethrows other errors.
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
