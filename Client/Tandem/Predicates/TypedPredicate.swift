import TandemModel
public import TandemQuery

/// A condition on objects of a class, written with operators on key paths and checked by the compiler.
///
///     let strong = \Team.wins > 3 && \Team.zone == "Africa"
///     let teams = try context.fetch(Team.self, where: strong && (\Team.players).any(\.goals > 5))
///     let keen = ["Africa", "Asia"] ~= \Team.zone || 2...4 ~= \Team.wins
///
/// It becomes the same tree as the text `wins > 3 AND zone == "Africa"`. Key paths lead along properties declared with ``Managed``: over to-one
/// relationships with `?` (`\Player.team?.name`), and at their end perhaps to `id`. What else they lead to is thrown when the
/// predicate is used.
public struct TypedPredicate<Object: ManagedObject>: Sendable {
    private let result: Result<ObjectPredicate, TandemError>

    /// The predicate as one that is not bound to a class.
    ///
    /// Throws `usage` for a key path that names no property.
    public var objectPredicate: ObjectPredicate {
        get throws(TandemError) { try result.get() }
    }

    init(_ make: () throws(TandemError) -> ObjectPredicate) {
        result = Result(catching: make)
    }

    /// What a key path reaches, compared with an expression.
    init<Value>(
        _ keyPath: KeyPath<Object, Value>, _ op: Comparison.Operator, _ right: QueryExpression,
        _ options: Comparison.Options = []
    ) {
        self.init { () throws(TandemError) in
            let left = QueryExpression(try KeyPathTrace.path(of: keyPath))
            return .comparison(Comparison(left, op, right, options: options))
        }
    }

    /// Both hold.
    public static func && (a: TypedPredicate, b: TypedPredicate) -> TypedPredicate {
        TypedPredicate { () throws(TandemError) in
            .and([try a.objectPredicate, try b.objectPredicate])
        }
    }

    /// One holds.
    public static func || (a: TypedPredicate, b: TypedPredicate) -> TypedPredicate {
        TypedPredicate { () throws(TandemError) in
            .or([try a.objectPredicate, try b.objectPredicate])
        }
    }

    /// The other does not hold.
    public static prefix func ! (part: TypedPredicate) -> TypedPredicate {
        TypedPredicate { () throws(TandemError) in .not(try part.objectPredicate) }
    }
}

extension QueryExpression {
    /// What a key path reaches.
    init(_ path: KeyPathTrace.Path) {
        self = path.names.isEmpty ? .selfObject : .keyPath(path.names)
    }
}
