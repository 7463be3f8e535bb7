public import TandemModel

/// A condition on an object, the counterpart of Core Data's `NSPredicate`.
///
/// Write a predicate as text (``init(format:arguments:)``), and combine predicates with `&&`, `||`
/// and `!`. Logic is two-valued: nil `==` nil and nil `!=` a value are true, and every other
/// comparison with nil is false. If a key path has no values, `ALL` and `NONE` are true, and `ANY`
/// is false.
///
///     let predicate = try ObjectPredicate(
///         format: "wins > %d AND ANY players.name BEGINSWITH[c] %@",
///         arguments: [.value(.int(3)), .value(.string("al"))])
public struct ObjectPredicate: Hashable, Sendable {
    /// The parts of the predicate.
    package let tree: PredicateTree

    /// Creates a predicate from its parts.
    package init(_ tree: PredicateTree) { self.tree = tree }

    /// Parses a predicate's text, with `arguments` for `%@`, `%K`, `%d`, `%i`, `%u` and `%f` in
    /// order.
    ///
    /// Throws ``TandemError`` with `invalidPredicate`, whose message says what was expected, and
    /// whose offset is in UTF-8 bytes. Throws `limitExceeded` for a predicate nested deeper than 64
    /// levels or with more than 10,000 parts. Cost: linear in the length of the text.
    ///
    ///     let nearby = try ObjectPredicate(
    ///         format: "team.name ==[c] %@ AND SUBQUERY(games, $g, $g.goals > 2).@count > 0",
    ///         arguments: [.value(.string("ghana"))])
    public init(
        format: String, arguments: [PredicateArgument] = []
    ) throws(TandemError) {
        tree = try PredicateTree(format: format, arguments: arguments)
    }

    /// Returns a predicate that is true if both predicates are true.
    public static func && (a: ObjectPredicate, b: ObjectPredicate) -> ObjectPredicate {
        ObjectPredicate(.and([a.tree, b.tree]))
    }

    /// Returns a predicate that is true if at least one of the predicates is true.
    public static func || (a: ObjectPredicate, b: ObjectPredicate) -> ObjectPredicate {
        ObjectPredicate(.or([a.tree, b.tree]))
    }

    /// Returns a predicate that is true if the given one is false.
    public static prefix func ! (part: ObjectPredicate) -> ObjectPredicate {
        ObjectPredicate(.not(part.tree))
    }
}

extension ObjectPredicate: CustomStringConvertible {
    /// The text that parses to this predicate, without arguments.
    ///
    /// Values without a literal are printed as `CAST`: dates in seconds since 1970, objects as
    /// `CAST("Team/3", "Object")`.
    public var description: String { tree.format }
}

/// The folding of texts before a comparison.
public struct ComparisonOptions: OptionSet, Hashable, Sendable {
    /// The bits.
    public let rawValue: UInt8
    /// Creates options from their bits.
    public init(rawValue: UInt8) { self.rawValue = rawValue }
    /// Full Unicode case folding: `[c]`.
    public static let caseInsensitive = ComparisonOptions(rawValue: 1)
    /// Removal of diacritics: `[d]`.
    public static let diacriticInsensitive = ComparisonOptions(rawValue: 2)
}
