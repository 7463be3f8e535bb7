import TandemQuery

/// What has to be there so that an optional of a `#Predicate` isn't nil: all of some values.
///
/// A chain's end need not say by itself whether the chain broke off: a count over nothing is 0, where Swift has nil.
struct Presence {
    /// The values that have to be there, each once; of nothing, the optional is never nil.
    private(set) var values: [QueryExpression] = []

    /// The same, and another value as well; values behind which it lies are there whenever it is.
    func adding(_ value: QueryExpression) -> Presence {
        if value.isNeverNil || values.contains(where: { $0.isNil(where: value) }) { return self }
        var result = self
        result.values.removeAll { value.isNil(where: $0) }
        result.values.append(value)
        return result
    }

    /// The same, and all that another optional needs.
    func adding(_ other: Presence) -> Presence { other.values.reduce(self) { $0.adding($1) } }

    /// All is there, and a condition holds.
    func and(_ condition: ObjectPredicate) -> ObjectPredicate {
        values.isEmpty ? condition : .and(values.map { .present($0) } + [condition])
    }

    /// Something is missing.
    var fails: ObjectPredicate {
        switch values.count {
        case 0: .constant(false)
        case 1: .absent(values[0])
        default: .or(values.map { .absent($0) })
        }
    }

    /// Whether a value is nil by itself whenever something is missing.
    func isSaid(by value: QueryExpression) -> Bool { values.allSatisfy { value.isNil(where: $0) } }
}

/// What counts in place of a value that is nil.
struct Fallback {
    /// What has to be there for the value itself to count.
    var needed: Presence
    /// What counts otherwise; nil for nil.
    var value: QueryExpression?
}

extension QueryExpression {
    /// Whether it is nil wherever another one is: it lies behind that, or is calculated with it.
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

    /// Whether there is always a value.
    var isNeverNil: Bool {
        switch self {
        case .constant(let value): !value.isNull
        case .object, .list, .selfObject, .variable(_, path: []), .aggregate(.count, _, _): true
        default: false
        }
    }
}

extension ObjectPredicate {
    /// The expression is not nil.
    static func present(_ expression: QueryExpression) -> ObjectPredicate {
        if expression.isNeverNil { return .constant(true) }
        return .comparison(Comparison(expression, .notEqual, .constant(.null)))
    }

    /// The expression is nil.
    static func absent(_ expression: QueryExpression) -> ObjectPredicate {
        if expression.isNeverNil { return .constant(false) }
        return .comparison(Comparison(expression, .equal, .constant(.null)))
    }

    /// One condition where all is there that is needed, another one where it isn't.
    static func choice(
        _ needed: Presence, _ condition: ObjectPredicate, _ other: ObjectPredicate
    ) -> ObjectPredicate {
        switch (condition, other) {
        case (_, .constant(false)): needed.and(condition)
        case (.constant(false), .constant(true)): needed.fails
        case (.constant(false), _): .and([needed.fails, other])
        default: .or([needed.and(condition), .and([needed.fails, other])])
        }
    }

    /// A condition on a value or on what counts in its place, and `whenNil` where nothing does.
    static func either(
        _ value: QueryExpression, _ fallback: Fallback?,
        whenNil: ObjectPredicate = .constant(false),
        _ condition: (QueryExpression) -> ObjectPredicate
    ) -> ObjectPredicate {
        guard let fallback else { return condition(value) }
        return choice(fallback.needed, condition(value), fallback.value.map(condition) ?? whenNil)
    }
}
