package import TandemModel

/// The parts of a predicate.
package indirect enum PredicateTree: Hashable, Sendable {
    /// Always true, or always false.
    case constant(Bool)
    /// True if all parts are true, or if there are none.
    case and([PredicateTree])
    /// True if at least one part is true.
    case or([PredicateTree])
    /// True if the part is false.
    case not(PredicateTree)
    /// A comparison of two expressions.
    case comparison(Comparison)

    /// The maximum nesting depth of a predicate.
    package static let maximumDepth = 64
    /// The maximum number of predicates, expressions and list elements in a predicate, in total.
    package static let maximumNodes = 10_000
}

/// Two expressions and the operator between them.
package struct Comparison: Hashable, Sendable {
    /// The operator of a comparison.
    package enum Operator: String, Hashable, Sendable, CaseIterable {
        /// Both are nil, or equal.
        case equal = "=="
        /// Not ``equal``.
        case notEqual = "!="
        /// The left side is less than the right side.
        case less = "<"
        /// The left side is less than or equal to the right side.
        case lessOrEqual = "<="
        /// The left side is greater than the right side.
        case greater = ">"
        /// The left side is greater than or equal to the right side.
        case greaterOrEqual = ">="
        /// The left side is between the two elements of a list, inclusive.
        case between = "BETWEEN"
        /// The left side is in a list or collection.
        case `in` = "IN"
        /// The left side begins with the right side.
        case beginsWith = "BEGINSWITH"
        /// The left side, a text or collection, contains the right side.
        case contains = "CONTAINS"
        /// The left side ends with the right side.
        case endsWith = "ENDSWITH"
        /// The left side matches the right side, where `?` stands for one character and `*` for any
        /// number.
        case like = "LIKE"
    }

    /// The quantifier over the values of a to-many key path on the left side.
    package enum Quantifier: UInt8, Hashable, Sendable, CaseIterable {
        /// No quantifier: the left side is a single value.
        case direct
        /// At least one value satisfies the comparison.
        case any
        /// All values satisfy the comparison.
        case all
        /// No value satisfies the comparison.
        case none
    }

    /// The left side.
    package var left: QueryExpression
    /// The operator.
    package var op: Operator
    /// The right side.
    package var right: QueryExpression
    /// The folding of texts before the comparison.
    package var options: ComparisonOptions
    /// The quantifier of a to-many left side.
    package var quantifier: Quantifier

    /// Creates a comparison of two expressions.
    package init(
        _ left: QueryExpression, _ op: Operator, _ right: QueryExpression,
        options: ComparisonOptions = [], quantifier: Quantifier = .direct
    ) {
        self.left = left
        self.op = op
        self.right = right
        self.options = options
        self.quantifier = quantifier
    }
}

/// One side of a comparison.
package indirect enum QueryExpression: Hashable, Sendable {
    /// A value.
    case constant(PropertyValue)
    /// An object, resolved when the request is compiled.
    case object(ObjectID)
    /// A list, for `IN` and `BETWEEN`.
    case list([QueryExpression])
    /// The value of a key path from the object.
    case keyPath([String])
    /// The object itself: `SELF`.
    case selfObject
    /// The variable of a `SUBQUERY`, without `$`, or the value of a key path from it.
    case variable(String, path: [String])
    /// An aggregate, `collection.@sum.path`; the path of ``Aggregate/count`` is empty.
    ///
    /// With an empty key path as collection, it is an aggregate of a group, `@sum.path`, which is
    /// only allowed in ``FetchColumns/having``.
    case aggregate(Aggregate, of: QueryExpression, path: [String])
    /// The objects of a collection that satisfy a predicate over the variable.
    case subquery(of: QueryExpression, variable: String, where: PredicateTree)
    /// An arithmetic operation on two numbers.
    case arithmetic(Arithmetic, QueryExpression, QueryExpression)
}

/// An arithmetic operator; the result is nil if either side is nil, or for a division by zero.
///
/// The result for integers is an integer (division truncates), or a double if it overflows.
package enum Arithmetic: String, Hashable, Sendable, CaseIterable {
    /// Sum.
    case add = "+"
    /// Difference.
    case subtract = "-"
    /// Product.
    case multiply = "*"
    /// Quotient.
    case divide = "/"
}
