/// The computation of a derived attribute from another property of the same object.
///
/// The daemon computes the value at every save, after all other changes have been planned, and
/// stores it in the row. The attribute can't be set, but can be used in sort orders, predicates and
/// indexes like any other. The printed form is Core Data's.
///
///     Attribute("playerCount", .int, derived: .count("players"))
///     Attribute("nameFolded", .string, derived: .folded("name"))
public enum Derivation: Hashable, Sendable, CustomStringConvertible {
    /// The number of members of a to-many relationship: an int, never null.
    case count(String)
    /// A case-folded text without diacritics; null if the source is null.
    case folded(String)

    /// The property from which the value is computed.
    package var source: String {
        switch self {
        case .count(let source), .folded(let source): source
        }
    }

    /// Returns the derivation with its source property renamed.
    func renamed(_ name: String) -> Derivation {
        switch self {
        case .count: .count(name)
        case .folded: .folded(name)
        }
    }

    /// The printed form, as in the JSON form of a model: `players.@count` or `canonical:(name)`.
    public var description: String {
        switch self {
        case .count(let source): source + Self.countEnd
        case .folded(let source): Self.foldedStart + source + ")"
        }
    }

    /// Parses the printed form; returns nil for anything else.
    package init?(_ text: String) {
        if text.hasSuffix(Self.countEnd) {
            self = .count(String(text.dropLast(Self.countEnd.count)))
        } else if text.hasPrefix(Self.foldedStart), text.hasSuffix(")") {
            self = .folded(String(text.dropFirst(Self.foldedStart.count).dropLast()))
        } else {
            return nil
        }
        guard ModelCheck.isIdentifier(source) else { return nil }
    }

    /// The printed form as a pattern, for messages.
    static let form = "`RELATIONSHIP.@count` or `canonical:(ATTRIBUTE)`"
    private static let countEnd = ".@count"
    private static let foldedStart = "canonical:("
}

/// The derivation of an attribute of a ``CompiledEntity``, by slots.
package struct CompiledDerivation: Hashable, Sendable {
    /// The computation.
    package enum Kind: Hashable, Sendable {
        /// The number of members.
        case count
        /// The folded text.
        case folded
    }

    /// The slot of the derived attribute.
    package let slot: Int
    /// The computation.
    package let kind: Kind
    /// The slot of the property from which the value is computed.
    package let source: Int
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
    var initialValue: PropertyValue {
        if case .count = derivation { return .int(0) }
        return attribute?.defaultValue ?? .null
    }

    /// The derivation of a derived attribute; nil for any other property.
    @usableFromInline package var derivation: Derivation? { attribute?.derived }

    /// The message that a derived property can't be set; nil for any other property.
    package var settingProblem: String? {
        derivation.map { "the attribute is derived (\($0)) and cannot be set; leave it out" }
    }
}

extension TandemError {
    /// Returns the error for setting a derived attribute of several objects, or of objects without
    /// an id.
    ///
    /// The result is nil if the property can be set.
    package static func derived(
        _ property: CompiledProperty, of entity: CompiledEntity
    ) -> TandemError? {
        property.settingProblem.map {
            TandemError(.validation, "\(entity.name).\(property.name): \($0)")
        }
    }

    /// Returns the error for setting a derived attribute of an object; nil if the property can be
    /// set.
    package static func derived(
        _ property: CompiledProperty, of object: ObjectID
    ) -> TandemError? {
        property.settingProblem.map {
            let problem = ValidationProblem(
                object: object, property: property.name, message: $0)
            return TandemError(.validation, problems: [problem])
        }
    }
}
