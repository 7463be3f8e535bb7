/// A problem of a model: its location and a remedy.
package struct ModelProblem: Hashable, Sendable, CustomStringConvertible {
    /// The entity, if the problem concerns one.
    package var entity: String?
    /// The property, if the problem concerns one.
    package var property: String?
    /// The problem and what to do about it.
    package var message: String

    /// Creates a problem.
    package init(entity: String? = nil, property: String? = nil, _ message: String) {
        self.entity = entity
        self.property = property
        self.message = message
    }

    /// The problem as `Entity.property: message`.
    package var description: String {
        let place = [entity, property].compactMap { $0 }.joined(separator: ".")
        return place.isEmpty ? message : "\(place): \(message)"
    }
}

/// The error for an invalid model, with all its problems.
public struct ModelError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The problems, at least one.
    package var problems: [ModelProblem]

    /// Creates an error with the given problems.
    package init(_ problems: [ModelProblem]) { self.problems = problems }

    /// All problems on one line.
    public var description: String {
        "the model cannot be used: " + problems.map(\.description).joined(separator: "; ")
    }
}
