import TandemQuery

/// The values that must all be non-nil for an optional in a `#Predicate` to be non-nil.
///
/// The result of an optional chain does not always show that the chain ended early: `count`, for
/// example, is then 0, although Swift's result is nil.
struct NonNilRequirement {
    /// The required values, without duplicates; if there are none, the optional is never nil.
    private(set) var values: [QueryExpression] = []

    /// Returns the requirement with one more value.
    ///
    /// Values implied by the new value, such as prefixes of its key path, are removed.
    func adding(_ value: QueryExpression) -> NonNilRequirement {
        if value.isNeverNil || values.contains(where: { $0.isNil(where: value) }) { return self }
        var result = self
        result.values.removeAll { value.isNil(where: $0) }
        result.values.append(value)
        return result
    }

    /// Returns the union of two requirements.
    func adding(_ other: NonNilRequirement) -> NonNilRequirement {
        other.values.reduce(self) { $0.adding($1) }
    }

    /// Returns the condition that all required values are present and a condition holds.
    func and(_ condition: PredicateTree) -> PredicateTree {
        values.isEmpty ? condition : .and(values.map { .present($0) } + [condition])
    }

    /// The condition that at least one required value is nil.
    var fails: PredicateTree {
        switch values.count {
        case 0: .constant(false)
        case 1: .absent(values[0])
        default: .or(values.map { .absent($0) })
        }
    }

    /// Returns whether a value is itself nil whenever a required value is nil.
    func isImplied(by value: QueryExpression) -> Bool {
        values.allSatisfy { value.isNil(where: $0) }
    }
}

/// The replacement for a value if a required value is nil.
struct Fallback {
    /// The values required for the original value to apply.
    var needed: NonNilRequirement
    /// The replacement; nil means null.
    var value: QueryExpression?
}

extension QueryExpression {
    /// Returns whether this value is nil whenever `other` is, because it is reached through `other`
    /// or calculated from it.
    func isNil(where other: QueryExpression) -> Bool {
        if self == other { return true }
        return switch (self, other) {
        case (.keyPath(let names), .keyPath(let first)): names.starts(with: first)
        case (.variable(let name, let names), .variable(let root, let first)):
            name == root && names.starts(with: first)
        case (.arithmetic(_, let left, let right), _):
            left.isNil(where: other) || right.isNil(where: other)
        default: false
        }
    }

    /// Whether the expression always has a value.
    var isNeverNil: Bool {
        switch self {
        case .constant(let value): !value.isNull
        case .object, .list, .selfObject, .variable(_, path: []), .aggregate(.count, _, _): true
        default: false
        }
    }
}

extension PredicateTree {
    /// Returns the condition that the expression is not nil.
    static func present(_ expression: QueryExpression) -> PredicateTree {
        if expression.isNeverNil { return .constant(true) }
        return .comparison(Comparison(expression, .notEqual, .constant(.null)))
    }

    /// Returns the condition that the expression is nil.
    static func absent(_ expression: QueryExpression) -> PredicateTree {
        if expression.isNeverNil { return .constant(false) }
        return .comparison(Comparison(expression, .equal, .constant(.null)))
    }

    /// Returns a choice: `condition` if all required values are present, `other` if not.
    static func choice(
        _ needed: NonNilRequirement, _ condition: PredicateTree, _ other: PredicateTree
    ) -> PredicateTree {
        switch (condition, other) {
        case (_, .constant(false)): needed.and(condition)
        case (.constant(false), .constant(true)): needed.fails
        case (.constant(false), _): .and([needed.fails, other])
        default: .or([needed.and(condition), .and([needed.fails, other])])
        }
    }

    /// Returns a condition on a value or its replacement, or `whenNil` if neither applies.
    static func either(
        _ value: QueryExpression, _ fallback: Fallback?,
        whenNil: PredicateTree = .constant(false),
        _ condition: (QueryExpression) -> PredicateTree
    ) -> PredicateTree {
        guard let fallback else { return condition(value) }
        return choice(fallback.needed, condition(value), fallback.value.map(condition) ?? whenNil)
    }
}
