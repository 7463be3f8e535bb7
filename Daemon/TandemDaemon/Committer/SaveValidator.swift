import TandemModel
import TandemStore

/// Validation of the state after a save against the model's rules.
///
/// All problems are reported at once, as far as they fit into an answer.
struct SaveValidator {
    let graph: PlanningGraph
    let model: CompiledModel
    let limits: DaemonLimits
    let counts: LimitCounters

    /// Checks the objects of the save, which are sorted by number.
    func validate(_ objects: [PlanningObject]) throws {
        try checkDenials()
        var problems = ProblemList()
        for working in objects where !working.isDeleted {
            if problems.isFull { break }
            try check(working, &problems)
        }
        guard problems.isEmpty else { throw TandemError(.validation, problems: problems.problems) }
    }

    /// Returns the problems of one object as an error, or nil if there are none.
    func refusal(of working: PlanningObject) throws -> TandemError? {
        var problems = ProblemList()
        try check(working, &problems)
        return problems.isEmpty ? nil : TandemError(.validation, problems: problems.problems)
    }

    private func checkDenials() throws {
        for denial in graph.denials {
            let left = denial.members.filter { graph.objects[$0.number]?.isDeleted != true }
            if left.isEmpty { continue }
            let name =
                model.entity(tagged: denial.owner.tag)?.properties[denial.slot].name ?? ""
            throw TandemError.deleteDenied(
                model.id(of: denial.owner), by: name, left: left.map(model.id))
        }
    }

    private func check(_ working: PlanningObject, _ problems: inout ProblemList) throws {
        let entity = working.entity
        // Slots whose rules can't be broken are skipped.
        let doubtful = entity.limited.union(entity.required.subtracting(working.filled))
        for slot in working.touched.intersection(doubtful) {
            let property = entity.properties[slot]
            guard let message = try problem(property, working) else { continue }
            problems.append(
                ValidationProblem(
                    object: model.id(of: working.object), property: property.name, message: message)
            )
        }
    }

    private func problem(
        _ property: CompiledProperty, _ working: PlanningObject
    ) throws -> String? {
        let value = working.value(property.slot)
        if let relationship = property.relationship {
            guard relationship.toMany else {
                return value.isNull && !relationship.isOptional
                    ? CompiledProperty.missingObjectMessage : nil
            }
            guard relationship.limitsCount else { return nil }
            return try problem(withMembersOf: working, property.slot, relationship)
        }
        return try property.problem(with: value, tooLong: tooLong, content: content)
    }

    /// Checks the number of members, counting only as many as necessary.
    ///
    /// If the count is out of bounds, all members are counted for the message.
    private func problem(
        withMembersOf working: PlanningObject, _ slot: Int, _ relationship: CompiledRelationship
    ) throws -> String? {
        let (low, high) = (relationship.declaration.minimum, relationship.declaration.maximum)
        let bound = high ?? low ?? 1
        let count = try graph.memberCount(of: working.object, slot, relationship, upTo: bound)
        guard relationship.problem(withCount: count) != nil else { return nil }
        let all = try graph.memberCount(of: working.object, slot, relationship, upTo: .max)
        return relationship.problem(withCount: all)
    }

    private func content(_ blob: BlobReference) throws -> [UInt8]? {
        try graph.content(of: blob) ?? []
    }

    /// Returns the problem of a text or data value longer than the daemon's limit.
    private func tooLong(_ value: PropertyValue) -> String? {
        guard let bytes = bytes(value) else { return nil }
        let limit = limit(value)
        guard bytes > limits[limit] else { return nil }
        counts.record(limit)
        return
            "the value has \(bytes) bytes, above the maximum of \(limits[limit]) (limits.\(limit.rawValue))"
    }

    private func bytes(_ value: PropertyValue) -> Int? {
        switch value {
        case .string(let text), .url(let text): text.utf8.count
        case .data(let bytes): bytes.count
        case .blob(let blob): blob.length
        case .longText(let text): text.length
        default: nil
        }
    }

    /// Returns the size limit of a value; URLs have a limit of their own because they stay in the
    /// row.
    private func limit(_ value: PropertyValue) -> Limit {
        if case .url = value { .attributeBytes } else { .blobBytes }
    }
}
