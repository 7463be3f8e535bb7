/// How a derived attribute follows from another property of the same object.
///
/// The daemon computes it with every save, after all else is planned, and keeps it in the row: so it can be sorted, filtered and
/// indexed by like any other value, and nobody sets it. The printed form is that of Core Data.
///
///     Attribute("playerCount", .int, derived: .count("players"))
///     Attribute("nameFolded", .string, derived: .folded("name"))
public enum Derivation: Hashable, Sendable, CustomStringConvertible {
    /// How many members a to-many relationship has: an int, never null.
    case count(String)
    /// A text without differences of case and without diacritics, null where that is null.
    case folded(String)

    /// The property that it follows from.
    public var source: String {
        switch self {
        case .count(let source), .folded(let source): source
        }
    }

    /// The same of a property of another name.
    func renamed(_ name: String) -> Derivation {
        switch self {
        case .count: .count(name)
        case .folded: .folded(name)
        }
    }

    /// `players.@count` or `canonical:(name)`, as in the JSON form of a model.
    public var description: String {
        switch self {
        case .count(let source): source + Self.countEnd
        case .folded(let source): Self.foldedStart + source + ")"
        }
    }

    /// Reads the printed form; nil for anything else.
    public init?(_ text: String) {
        if text.hasSuffix(Self.countEnd) {
            self = .count(String(text.dropLast(Self.countEnd.count)))
        } else if text.hasPrefix(Self.foldedStart), text.hasSuffix(")") {
            self = .folded(String(text.dropFirst(Self.foldedStart.count).dropLast()))
        } else {
            return nil
        }
        guard ModelCheck.isIdentifier(source) else { return nil }
    }

    /// What a printed form looks like, for messages.
    static let form = "`RELATIONSHIP.@count` or `canonical:(ATTRIBUTE)`"
    private static let countEnd = ".@count"
    private static let foldedStart = "canonical:("
}

/// The derivation of an attribute of a ``CompiledEntity``, by slots.
public struct CompiledDerivation: Hashable, Sendable {
    /// What is computed.
    public enum Kind: Hashable, Sendable {
        /// The number of members.
        case count
        /// The folded text.
        case folded
    }

    /// The slot of the derived attribute.
    public let slot: Int
    /// What is computed.
    public let kind: Kind
    /// The slot of the property that it follows from.
    public let source: Int
}

extension Derivation {
    var kind: CompiledDerivation.Kind {
        switch self {
        case .count: .count
        case .folded: .folded
        }
    }
}

extension CompiledProperty {
    /// The value of a new object before anything is set.
    var initialValue: Value {
        if case .count = derivation { return .int(0) }
        return attribute?.defaultValue ?? .null
    }

    /// How the attribute follows from another property; nil for what is set.
    public var derivation: Derivation? { attribute?.derived }

    /// What is wrong with setting it, if it is derived.
    public var settingProblem: String? {
        derivation.map { "it is derived, \($0), and can't be set; leave it out" }
    }
}

extension TandemError {
    /// The refusal to set a derived attribute of objects that have no ids yet, or of many; nil for what may be set.
    public static func derived(
        _ property: CompiledProperty, of entity: CompiledEntity
    ) -> TandemError? {
        property.settingProblem.map {
            TandemError(.validation, "\(entity.name).\(property.name): \($0)")
        }
    }

    /// The refusal to set a derived attribute of an object; nil for what may be set.
    public static func derived(
        _ property: CompiledProperty, of object: ObjectID
    ) -> TandemError? {
        property.settingProblem.map {
            let problem = ValidationProblem(
                object: object, property: property.name, message: $0)
            return TandemError(.validation, problems: [problem])
        }
    }
}
