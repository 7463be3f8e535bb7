package import FoundationEssentials
package import TandemModel
package import TandemQuery

extension ObjectPredicate {
    /// Translates a Foundation predicate; see ``Foundation/Predicate/objectPredicate``.
    package init<each Input>(_ predicate: Predicate<repeat each Input>) throws(TandemError) {
        var translation = PredicateTranslation()
        for variable in repeat each predicate.variable {
            guard translation.variables.isEmpty else {
                throw TandemError(
                    .invalidPredicate, "a #Predicate of several objects cannot be translated")
            }
            translation.variables[variable.key] = .selfObject
        }
        self.init(try translation.predicate(predicate.expression))
    }
}

/// The state of a translation: the expressions bound to the predicate's variables.
struct PredicateTranslation {
    /// The translation of a node of the tree.
    enum Translation {
        /// A condition.
        case predicate(PredicateTree)
        /// A condition on an optional; it is nil if the required values are not all present.
        case optionalPredicate(PredicateTree, NonNilRequirement)
        /// A value, with its fallback if required values are nil.
        case value(QueryExpression, or: Fallback?)
        /// All or some of the targets of a to-many relationship.
        case members(QueryExpression)
        /// A range of values.
        case range(ValueRange)

        /// The value of an optional, with the values required for it to be non-nil.
        ///
        /// Nil for any other node.
        var optional: (value: QueryExpression, needed: NonNilRequirement)? {
            guard case .value(let value, let fallback) = self, fallback?.value == nil else {
                return nil
            }
            return (value, (fallback?.needed ?? NonNilRequirement()).adding(value))
        }
    }

    var variables: [PredicateExpressions.VariableID: QueryExpression] = [:]
    private var elements = 0

    /// Translates any node.
    mutating func translate(_ node: Any) throws(TandemError) -> Translation {
        guard let node = node as? any TranslatedExpression else { throw Self.unknown(node) }
        return try node.translate(&self)
    }

    /// Translates a node that must be a condition.
    mutating func predicate(_ node: Any) throws(TandemError) -> PredicateTree {
        switch try translate(node) {
        case .predicate(let predicate): return predicate
        case .optionalPredicate(let predicate, let needed): return needed.and(predicate)
        case .value(.constant(.bool(let value)), nil): return .constant(value)
        case .value(let value, let other):
            return .either(value, other) {
                .comparison(Comparison($0, .equal, .constant(.bool(true))))
            }
        case .members, .range: throw Self.unknown(node, "is not a condition")
        }
    }

    /// Translates a node that must be a value.
    mutating func value(_ node: Any) throws(TandemError) -> QueryExpression {
        guard case .value(let value, nil) = try translate(node) else {
            throw Self.unknown(node, "is not a single value")
        }
        return value
    }

    /// Translates a node that must be the targets of a to-many relationship.
    mutating func members(_ node: Any) throws(TandemError) -> QueryExpression {
        guard case .members(let members) = try translate(node) else {
            throw Self.unknown(node, "is not a to-many relationship")
        }
        return members
    }

    /// Translates a condition on the elements of a collection.
    ///
    /// Returns the condition with the name of the element's variable.
    mutating func condition(
        _ node: Any, on variable: PredicateExpressions.VariableID
    ) throws(TandemError) -> (variable: String, condition: PredicateTree) {
        elements += 1
        let name = "x\(elements)"
        variables[variable] = .variable(name, path: [])
        return (name, try predicate(node))
    }

    /// Returns the error for a node that has no translation.
    static func unknown(_ node: Any, _ why: String = "cannot be translated") -> TandemError {
        let type = String("\(Swift.type(of: node))".prefix { $0 != "<" })
        return unknown(named: swiftSyntax[type] ?? type, why)
    }

    /// The Swift expressions that Foundation's types represent.
    private static let swiftSyntax = [
        "ClosedRange": "a...b", "CollectionContainsCollection": "a.contains(b)",
        "CollectionIndexSubscript": "a[index]", "CollectionRangeSubscript": "a[range]",
        "Conditional": "a ? b : c", "ConditionalCast": "a as? T",
        "DictionaryKeyDefaultValueSubscript": "a[key, default: b]",
        "DictionaryKeySubscript": "a[key]", "ExpressionEvaluate": "a.evaluate(b)",
        "Filter": "a.filter { … }", "FloatDivision": "a / b", "ForceCast": "a as! T",
        "ForcedUnwrap": "a!", "IntDivision": "a / b", "IntRemainder": "a % b",
        "NilCoalesce": "a ?? b", "NilLiteral": "nil", "OptionalFlatMap": "a?.b",
        "PredicateEvaluate": "predicate.evaluate(a)", "PredicateRegex": "regex", "Range": "a..<b",
        "SequenceAllSatisfy": "a.allSatisfy { … }", "SequenceContains": "a.contains(b)",
        "SequenceContainsWhere": "a.contains { … }", "SequenceMaximum": "a.max()",
        "SequenceMinimum": "a.min()", "SequenceStartsWith": "a.starts(with: b)",
        "StringCaseInsensitiveCompare": "a.caseInsensitiveCompare(b)",
        "StringContainsRegex": "a.contains(regex)",
        "StringLocalizedCompare": "a.localizedCompare(b)",
        "StringLocalizedStandardContains": "a.localizedStandardContains(b)", "TypeCheck": "a is T",
        "UnaryMinus": "-a",
    ]

    /// Returns the error for an expression that has no translation, given its name.
    static func unknown(named name: String, _ why: String) -> TandemError {
        TandemError(
            .invalidPredicate,
            "`\(name)` in a #Predicate \(why); write the predicate as text or with operators on key paths"
        )
    }
}

/// An expression of a `#Predicate` that has a translation.
protocol TranslatedExpression {
    func translate(_ translation: inout PredicateTranslation) throws(TandemError)
        -> PredicateTranslation.Translation
}
