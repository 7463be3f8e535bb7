/// Something wrong in a model: where it is and how to mend it.
public struct ModelProblem: Hashable, Sendable, CustomStringConvertible {
    /// The entity, if the problem is in one.
    public var entity: String?
    /// The property, if the problem is in one.
    public var property: String?
    /// What is wrong and what to do.
    public var message: String

    /// A problem at the given place.
    public init(entity: String? = nil, property: String? = nil, _ message: String) {
        self.entity = entity
        self.property = property
        self.message = message
    }

    /// `Entity.property: message`.
    public var description: String {
        let place = [entity, property].compactMap { $0 }.joined(separator: ".")
        return place.isEmpty ? message : "\(place): \(message)"
    }
}

/// Everything that is wrong in a model.
public struct ModelError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The problems, at least one.
    public var problems: [ModelProblem]

    /// An error with the given problems.
    public init(_ problems: [ModelProblem]) { self.problems = problems }

    /// All problems on one line.
    public var description: String {
        "the model can't be used: " + problems.map(\.description).joined(separator: "; ")
    }
}
