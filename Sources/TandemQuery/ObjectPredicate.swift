public import TandemModel

/// A condition on an object: what `NSPredicate` is to Core Data.
///
/// Write it as text (``init(format:arguments:)``) or build the tree. Logic is two-valued: nil `==` nil is true, nil `!=` a
/// value is true, every other comparison with nil is false; `ALL` and `NONE` over nothing are true, `ANY` is false.
///
///     let predicate = try ObjectPredicate(
///         format: "wins > %d AND ANY players.name BEGINSWITH[c] %@",
///         arguments: [.value(.int(3)), .value(.string("al"))])
public indirect enum ObjectPredicate: Hashable, Sendable {
    /// Always the same.
    case constant(Bool)
    /// True when all are; of nothing, true.
    case and([ObjectPredicate])
    /// True when one is; of nothing, false.
    case or([ObjectPredicate])
    /// True when the other is false.
    case not(ObjectPredicate)
    /// Two expressions compared.
    case comparison(Comparison)

    /// Predicates nest at most this deep.
    public static let maximumDepth = 64
    /// A predicate has at most this many predicates, expressions and list elements together.
    public static let maximumNodes = 10_000
}

/// Two expressions and the operator between them.
public struct Comparison: Hashable, Sendable {
    /// What is compared how.
    public enum Operator: String, Hashable, Sendable, CaseIterable {
        /// Both are nil, or equal.
        case equal = "=="
        /// Not ``equal``.
        case notEqual = "!="
        /// Left is smaller.
        case less = "<"
        /// Left is smaller or equal.
        case lessOrEqual = "<="
        /// Left is larger.
        case greater = ">"
        /// Left is larger or equal.
        case greaterOrEqual = ">="
        /// Left is within a list of two, both included.
        case between = "BETWEEN"
        /// Left is in a list or collection.
        case `in` = "IN"
        /// Left begins with right.
        case beginsWith = "BEGINSWITH"
        /// Left, a text or collection, contains right.
        case contains = "CONTAINS"
        /// Left ends with right.
        case endsWith = "ENDSWITH"
        /// Left matches right, where `?` is any one character and `*` any number of them.
        case like = "LIKE"
    }

    /// How texts are folded before they are compared.
    public struct Options: OptionSet, Hashable, Sendable {
        /// The bits.
        public let rawValue: UInt8
        /// Options of the given bits.
        public init(rawValue: UInt8) { self.rawValue = rawValue }
        /// After full Unicode case folding: `[c]`.
        public static let caseInsensitive = Options(rawValue: 1)
        /// Without diacritics: `[d]`.
        public static let diacriticInsensitive = Options(rawValue: 2)
    }

    /// What is asked of the values that a to-many key path on the left reaches.
    public enum Quantifier: UInt8, Hashable, Sendable, CaseIterable {
        /// The left side is one value.
        case direct
        /// At least one compares true.
        case any
        /// All compare true.
        case all
        /// None compares true.
        case none
    }

    /// The left side.
    public var left: QueryExpression
    /// The operator.
    public var op: Operator
    /// The right side.
    public var right: QueryExpression
    /// How texts are folded first.
    public var options: Options
    /// What is asked of a to-many left side.
    public var quantifier: Quantifier

    /// A comparison of two expressions.
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
/// Its name differs from Foundation's `Expression`, so that both can be imported.
public indirect enum QueryExpression: Hashable, Sendable {
    /// A value.
    case constant(Value)
    /// An object, resolved when the request is compiled.
    case object(ObjectID)
    /// A list, for `IN` and `BETWEEN`.
    case list([QueryExpression])
    /// What the key path reaches from the object.
    case keyPath([String])
    /// The object itself: `SELF`.
    case selfObject
    /// The variable of a `SUBQUERY`, without `$`, or what a key path reaches from it.
    case variable(String, path: [String])
    /// `collection.@sum.path`; with ``Aggregate/count`` the path is empty. Of the empty key path it is one of a group, `@sum.path`,
    /// in ``FetchColumns/having`` alone.
    case aggregate(Aggregate, of: QueryExpression, path: [String])
    /// The objects of a collection for which a predicate over the variable holds.
    case subquery(of: QueryExpression, variable: String, where: ObjectPredicate)
    /// Two numbers combined.
    case arithmetic(Arithmetic, QueryExpression, QueryExpression)
}

/// What is computed over the distinct objects of a collection; nil values are left out.
public enum Aggregate: String, Hashable, Sendable, CaseIterable {
    /// How many there are.
    case count
    /// The sum; 0 over nothing.
    case sum
    /// The smallest value; nil over nothing.
    case min
    /// The largest value; nil over nothing.
    case max
    /// The arithmetic mean, a double; nil over nothing.
    case avg
}

/// An arithmetic operator; nil when either side is, or on division by zero.
///
/// Integers stay integers (division truncates); where the result does not fit it becomes a double.
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
