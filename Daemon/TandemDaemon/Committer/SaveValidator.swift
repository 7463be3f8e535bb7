import TandemModel
import TandemStore

/// Checks what a save would leave behind against the rules of the model; reports all problems at once.
struct SaveValidator {
    let graph: WorkingGraph
    let model: CompiledModel
    let limits: DaemonLimits

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
        let touched = working.touched
        for property in working.entity.properties where touched.contains(property.slot) {
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
        return problem(attribute, value)
    }

    private func problem(_ attribute: Attribute, _ value: Value) -> String? {
        if let allowed = attribute.allowedValues, !allowed.contains(value) {
            return "\(value.json.text) is not allowed; allowed are "
                + allowed.map(\.json.text).joined(separator: ", ")
        }
        guard let (measure, unit) = measure(value) else { return nil }
        let (limit, hint) = limit(value)
        if measure > Double(limit), unit == " bytes" {
            return "\(Int(measure)) bytes; it has at most \(limit)\(hint)"
        }
        let size = unit == " bytes" ? length(value) : measure
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
        default: nil
        }
    }

    private func limit(_ value: Value) -> (Int, String) {
        switch value {
        case .data, .blob: (limits.blobBytes, "")
        default: (limits.attributeBytes, "; keep what is longer in an attribute of type data")
        }
    }

    /// The length that `min` and `max` limit: characters of a text, bytes of data.
    private func length(_ value: Value) -> Double {
        switch value {
        case .string(let text), .url(let text): Double(text.count)
        case .data(let bytes): Double(bytes.count)
        case .blob(let blob): Double(blob.length)
        default: 0
        }
    }
}
