import Tandem

/// Conversions of errors to the JSON form of the bridge.
enum BridgeErrors {
    /// Returns the error as a `TandemError`, with the code `storage` if its type is unknown.
    static func tandemError(_ error: any Error) -> TandemError {
        switch error {
        case let error as TandemError: error
        case let error as ModelError: TandemError(.usage, "\(error)")
        case let error as CommandFailure: TandemError(.usage, error.message)
        default: TandemError(.storage, "\(error)")
        }
    }

    /// Returns the JSON form of an error; `details` contains the values of conflicts.
    static func json(
        _ error: TandemError, _ details: [ConflictDetails] = [], _ model: CompiledModel? = nil
    ) -> JSON {
        var members: [String: JSON] = [
            "code": .string(error.code.rawValue), "message": .string(error.message),
        ]
        if let offset = error.offset { members["offset"] = .int(Int64(offset)) }
        if !error.problems.isEmpty {
            members["problems"] = .array(error.problems.map { problem($0) })
        }
        if let done = error.done {
            members["position"] = JSON(number: done.position.number)
            members["count"] = .int(Int64(done.count))
        }
        if error.code == .conflict {
            members["conflicts"] = .array(details.map { conflict($0, model) })
        }
        return .object(members)
    }

    private static func problem(_ problem: ValidationProblem) -> JSON {
        .object([
            "object": JSON(problem.object), "message": .string(problem.message),
            "property": problem.property.map { .string($0) } ?? .null,
        ])
    }

    private static func conflict(_ conflict: ConflictDetails, _ model: CompiledModel?) -> JSON {
        func values(_ values: [String: PropertyValue]) -> JSON {
            .object(values.mapValues { BridgeValues.json($0, model) })
        }
        return .object([
            "object": JSON(conflict.object), "base": values(conflict.base),
            "ours": values(conflict.ours), "theirs": conflict.theirs.map(values) ?? .null,
        ])
    }
}
