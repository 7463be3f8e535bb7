import TandemModel
import TandemStore

/// Checks what a save would leave behind against the rules of the model; reports all problems at once.
struct SaveValidator {
    let graph: WorkingGraph
    let model: CompiledModel
    let limits: DaemonLimits
    let counts: LimitCounts

    /// Checks the objects of the save, by number.
    func validate(_ objects: [WorkingObject]) throws {
        try checkDenials()
        var problems: [ValidationProblem] = []
        for working in objects where !working.isDeleted { try check(working, &problems) }
        guard problems.isEmpty else { throw TandemError(.validation, problems: problems) }
    }

    private func checkDenials() throws {
        for denial in graph.denials {
            let left = denial.members.filter { graph.objects[$0.number]?.isDeleted != true }
            guard let first = left.first else { continue }
            let name =
                model.entity(tagged: denial.owner.tag)?.properties[denial.slot].name ?? ""
            throw TandemError(
                .deleteDenied,
                "\(model.id(of: denial.owner)) can't be deleted: its \(name) still "
                    + "has \(model.id(of: first))"
                    + (left.count > 1 ? " and \(left.count - 1) more" : ""))
        }
    }

    private func check(_ working: WorkingObject, _ problems: inout [ValidationProblem]) throws {
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
            if relationship.isOptional { return nil }
            let isEmpty =
                relationship.toMany
                ? try graph.members(of: working.object, property.slot, relationship).isEmpty
                : value.isNull
            return isEmpty ? "it must lead somewhere; set it before saving" : nil
        }
        if value.isNull { return property.allowsNull ? nil : "a value is required" }
        guard property.limitsValues, let attribute = property.attribute else { return nil }
        return try problem(attribute, value)
    }

    private func problem(_ attribute: Attribute, _ value: Value) throws -> String? {
        if let allowed = attribute.allowedValues, !allowed.contains(value) {
            return "\(value.json.text) is not allowed; allowed are "
                + allowed.map(\.json.text).joined(separator: ", ")
        }
        guard let (measure, unit) = measure(value) else { return nil }
        let limit = limit(value)
        if unit == " bytes", measure > Double(limits[limit]) {
            counts.note(limit)
            return "\(Int(measure)) bytes; it has at most \(limits[limit]) "
                + "(limits.\(limit.rawValue))"
        }
        guard attribute.minimum != nil || attribute.maximum != nil else { return nil }
        let size = unit == " bytes" ? try length(value, attribute) : measure
        if let minimum = attribute.minimum, size < minimum {
            return "it is below the minimum of \(JSON.double(minimum).text)"
        }
        if let maximum = attribute.maximum, size > maximum {
            return "it is above the maximum of \(JSON.double(maximum).text)"
        }
        return nil
    }

    /// What is measured: the number, or the bytes of a text or data.
    private func measure(_ value: Value) -> (Double, String)? {
        switch value {
        case .int(let number): (Double(number), "")
        case .double(let number), .date(let number): (number, "")
        case .decimal(let number): (Double(number.description) ?? 0, "")
        case .string(let text), .url(let text): (Double(text.utf8.count), " bytes")
        case .data(let bytes): (Double(bytes.count), " bytes")
        case .blob(let blob): (Double(blob.length), " bytes")
        case .longText(let text): (Double(text.length), " bytes")
        default: nil
        }
    }

    /// The most bytes of a value: a URL stays in its row.
    private func limit(_ value: Value) -> Limit {
        if case .url = value { .attributeBytes } else { .blobBytes }
    }

    /// The length that `min` and `max` limit: characters of a text, bytes of data.
    ///
    /// Of a text no more characters are counted than it takes to know on which side of both limits it lies.
    private func length(_ value: Value, _ attribute: Attribute) throws -> Double {
        let most = max(attribute.minimum ?? 0, attribute.maximum ?? 0)
        switch value {
        case .string(let text), .url(let text): return count(text, upTo: most)
        case .longText(let reference):
            let content = try graph.content(of: reference.blob) ?? []
            return count(String(decoding: content, as: UTF8.self), upTo: most)
        case .data(let bytes): return Double(bytes.count)
        case .blob(let blob): return Double(blob.length)
        default: return 0
        }
    }

    private func count(_ text: String, upTo most: Double) -> Double {
        var count = 0.0
        for _ in text {
            count += 1
            if count > most { break }
        }
        return count
    }
}
