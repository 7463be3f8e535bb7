import TandemModel
public import TandemQuery

/// A condition on objects of a class, written with operators on key paths and checked by the
/// compiler.
///
///     let strong = \Team.wins > 3 && \Team.zone == "Africa"
///     let teams = try context.fetch(Team.self, where: strong && (\Team.players).any(\.goals > 5))
///     let keen = ["Africa", "Asia"] ~= \Team.zone || 2...4 ~= \Team.wins
///
/// The condition has the same tree as the predicate format `wins > 3 AND zone == "Africa"`. Key
/// paths consist of properties declared with ``Managed``. They traverse to-one relationships with
/// `?` (`\Player.team?.name`), and may end in `id`. For any other key path, using the predicate
/// throws `usage`.
public struct TypedPredicate<Object: ManagedObject>: Sendable {
    private let result: Result<PredicateTree, TandemError>

    /// The predicate without the class.
    ///
    /// Throws `usage` for a key path that names no property.
    public var objectPredicate: ObjectPredicate {
        get throws(TandemError) { ObjectPredicate(try tree) }
    }

    /// The parts of the predicate; throws the errors of ``objectPredicate``.
    var tree: PredicateTree {
        get throws(TandemError) { try result.get() }
    }

    /// Creates a predicate from a condition in any form, for example from a `#Predicate`, to
    /// combine it with others.
    public init<Condition: PredicateSource>(
        _ condition: Condition
    ) where Condition.Evaluation == (Object) throws -> Bool {
        self.init { () throws(TandemError) in try condition.objectPredicate.tree }
    }

    init(_ make: () throws(TandemError) -> PredicateTree) {
        result = Result(catching: make)
    }

    /// Creates a comparison of the value at a key path with an expression.
    init<Value>(
        _ keyPath: KeyPath<Object, Value>, _ op: Comparison.Operator, _ right: QueryExpression,
        _ options: ComparisonOptions = []
    ) {
        self.init { () throws(TandemError) in
            let left = QueryExpression(try KeyPathRecorder.path(of: keyPath))
            return .comparison(Comparison(left, op, right, options: options))
        }
    }

    /// Matches if both predicates match.
    public static func && (a: TypedPredicate, b: TypedPredicate) -> TypedPredicate {
        TypedPredicate { () throws(TandemError) in
            .and([try a.tree, try b.tree])
        }
    }

    /// Matches if at least one of the predicates matches.
    public static func || (a: TypedPredicate, b: TypedPredicate) -> TypedPredicate {
        TypedPredicate { () throws(TandemError) in
            .or([try a.tree, try b.tree])
        }
    }

    /// Matches if the predicate does not match.
    public static prefix func ! (part: TypedPredicate) -> TypedPredicate {
        TypedPredicate { () throws(TandemError) in .not(try part.tree) }
    }
}

extension QueryExpression {
    /// Creates the expression for the value at a key path.
    init(_ path: KeyPathRecorder.Path) {
        self = path.names.isEmpty ? .selfObject : .keyPath(path.names)
    }
}
