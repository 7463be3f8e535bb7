import TandemModel
import TandemStore

/// Checks what a save would leave behind against the rules of the model; reports all problems at once, as far as an answer has room for them.
struct SaveValidator {
    let graph: WorkingGraph
    let model: CompiledModel
    let limits: DaemonLimits
    let counts: LimitCounts

    /// Checks the objects of the save, by number.
    func validate(_ objects: [WorkingObject]) throws {
        try checkDenials()
        var problems = ProblemList()
        for working in objects where !working.isDeleted {
            if problems.isFull { break }
            try check(working, &problems)
        }
        guard problems.isEmpty else { throw TandemError(.validation, problems: problems.problems) }
    }

    /// What is wrong with one object by itself; nil for nothing.
    func refusal(of working: WorkingObject) throws -> TandemError? {
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

    private func check(_ working: WorkingObject, _ problems: inout ProblemList) throws {
        let entity = working.entity
        // Where no rule can be broken, nothing is looked at.
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
        _ property: CompiledProperty, _ working: WorkingObject
    ) throws -> String? {
        let value = working.value(property.slot)
        if let relationship = property.relationship {
            guard relationship.toMany else {
                return value.isNull && !relationship.isOptional
                    ? CompiledProperty.leadsNowhere : nil
            }
            guard relationship.limitsCount else { return nil }
            return try problem(withMembersOf: working, property.slot, relationship)
        }
        return try property.problem(with: value, tooLong: tooLong, content: content)
    }

    /// Counts no more members than it takes to tell that there are enough, and not too many; all for what is said of those.
    private func problem(
        withMembersOf working: WorkingObject, _ slot: Int, _ relationship: CompiledRelationship
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

    /// What is wrong with a text or data that is longer than the daemon takes.
    private func tooLong(_ value: Value) -> String? {
        guard let bytes = bytes(value) else { return nil }
        let limit = limit(value)
        guard bytes > limits[limit] else { return nil }
        counts.note(limit)
        return "\(bytes) bytes; it has at most \(limits[limit]) (limits.\(limit.rawValue))"
    }

    private func bytes(_ value: Value) -> Int? {
        switch value {
        case .string(let text), .url(let text): text.utf8.count
        case .data(let bytes): bytes.count
        case .blob(let blob): blob.length
        case .longText(let text): text.length
        default: nil
        }
    }

    /// The most bytes of a value: a URL stays in its row.
    private func limit(_ value: Value) -> Limit {
        if case .url = value { .attributeBytes } else { .blobBytes }
    }
}
