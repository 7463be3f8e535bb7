import TandemModel

extension ManagedObjectContext {
    /// What is to be saved, once every object said that it may be; a refusal lists all problems and leaves all as it is.
    func validRecords() throws -> [ObjectRecord] {
        var problems = SaveProblems()
        let objects = edited.objects
        for object in objects {
            try problems.collect(object.id) { try object.validateForSave() }
        }
        try problems.check()
        return objects.map(\.record)
    }

    /// What is wrong with some properties of an object; what isn't held is not judged.
    fileprivate func problems(_ slots: PropertyMask, of record: ObjectRecord) -> [ValidationProblem]
    {
        slots.slots.compactMap { slot in
            let property = record.entity.properties[slot]
            return problem(property, of: record).map { message in
                ValidationProblem(object: record.id, property: property.name, message: message)
            }
        }
    }

    private func problem(_ property: CompiledProperty, of record: ObjectRecord) -> String? {
        if property.isToMany {
            return members(of: record, property.slot)?.isEmpty == true
                ? CompiledProperty.leadsNowhere : nil
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
                record.id, by: property.name, left: left.sorted().map(model.id))
        }
    }

    /// The objects at the other end of a relationship, as far as they are held.
    func ends(
        of record: ObjectRecord, _ slot: Int, _ relationship: CompiledRelationship
    ) -> [ObjectReference] {
        if relationship.toMany { return Array(members(of: record, slot) ?? []) }
        return record.value(slot)?.reference.map { [$0] } ?? []
    }
}

extension ManagedObject {
    fileprivate func validateForSave() throws {
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
        var problems = SaveProblems()
        if !slots.isEmpty {
            problems.list = managedObjectContext?.problems(slots, of: record) ?? []
        }
        try problems.collect(id) { try validate() }
        try problems.check()
    }

    func checkDenials() throws { try managedObjectContext?.checkDenials(record) }
}

/// All that is wrong with what is to be saved.
struct SaveProblems {
    var list: [ValidationProblem] = []

    /// Notes what a check of an object reports; other errors it throws.
    mutating func collect(_ object: @autoclosure () -> ObjectID, _ check: () throws -> Void) throws
    {
        do { try check() } catch {
            guard let error = error as? TandemError, error.code == .validation else { throw error }
            list +=
                error.problems.isEmpty
                ? [ValidationProblem(object: object(), property: nil, message: error.message)]
                : error.problems
        }
    }

    /// Throws if anything is wrong.
    func check() throws {
        if !list.isEmpty { throw TandemError(.validation, problems: list) }
    }
}
