public import TandemModel

/// A condition on an object, the counterpart of Core Data's `NSPredicate`.
///
/// Write a predicate as text (``init(format:arguments:)``) or build it from its parts. Logic is
/// two-valued: nil `==` nil and nil `!=` a value are true, and every other comparison with nil is
/// false. If a key path has no values, `ALL` and `NONE` are true, and `ANY` is false.
///
///     let predicate = try ObjectPredicate(
///         format: "wins > %d AND ANY players.name BEGINSWITH[c] %@",
///         arguments: [.value(.int(3)), .value(.string("al"))])
public indirect enum ObjectPredicate: Hashable, Sendable {
    /// Always true, or always false.
    case constant(Bool)
    /// True if all parts are true, or if there are none.
    case and([ObjectPredicate])
    /// True if at least one part is true.
    case or([ObjectPredicate])
    /// True if the part is false.
    case not(ObjectPredicate)
    /// A comparison of two expressions.
    case comparison(Comparison)

    /// The maximum nesting depth of a predicate.
    package static let maximumDepth = 64
    /// The maximum number of predicates, expressions and list elements in a predicate, in total.
    package static let maximumNodes = 10_000
}

/// Two expressions and the operator between them.
public struct Comparison: Hashable, Sendable {
    /// The operator of a comparison.
    public enum Operator: String, Hashable, Sendable, CaseIterable {
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

    /// The folding of texts before a comparison.
    public struct Options: OptionSet, Hashable, Sendable {
        /// The bits.
        public let rawValue: UInt8
        /// Creates options from their bits.
        public init(rawValue: UInt8) { self.rawValue = rawValue }
        /// Full Unicode case folding: `[c]`.
        public static let caseInsensitive = Options(rawValue: 1)
        /// Removal of diacritics: `[d]`.
        public static let diacriticInsensitive = Options(rawValue: 2)
    }

    /// The quantifier over the values of a to-many key path on the left side.
    public enum Quantifier: UInt8, Hashable, Sendable, CaseIterable {
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
    public var left: QueryExpression
    /// The operator.
    public var op: Operator
    /// The right side.
    public var right: QueryExpression
    /// The folding of texts before the comparison.
    public var options: Options
    /// The quantifier of a to-many left side.
    public var quantifier: Quantifier

    /// Creates a comparison of two expressions.
    public init(
        _ left: QueryExpression, _ op: Operator, _ right: QueryExpression, options: Options = [],
        quantifier: Quantifier = .direct
    ) {
        self.left = left
        self.op = op
        self.right = right
        self.options = options
        self.quantifier = quantifier
    }
}

/// One side of a comparison.
///
/// The name differs from Foundation's `Expression`, so that both types can be used in a file.
public indirect enum QueryExpression: Hashable, Sendable {
    /// A value.
    case constant(Value)
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
    case subquery(of: QueryExpression, variable: String, where: ObjectPredicate)
    /// An arithmetic operation on two numbers.
    case arithmetic(Arithmetic, QueryExpression, QueryExpression)
}

/// An aggregate over the distinct objects of a collection; nil values are ignored.
public enum Aggregate: String, Hashable, Sendable, CaseIterable {
    /// The number of objects.
    case count
    /// The sum; 0 if there are no values.
    case sum
    /// The smallest value; nil if there are no values.
    case min
    /// The largest value; nil if there are no values.
    case max
    /// The arithmetic mean, a double; nil if there are no values.
    case avg
}

/// An arithmetic operator; the result is nil if either side is nil, or for a division by zero.
///
/// The result for integers is an integer (division truncates), or a double if it overflows.
public enum Arithmetic: String, Hashable, Sendable, CaseIterable {
    /// Sum.
    case add = "+"
    /// Difference.
    case subtract = "-"
    /// Product.
    case multiply = "*"
    /// Quotient.
    case divide = "/"
}
