public import TandemModel

/// Predicates built without parsing:
/// `.compare("wins", .greater, .int(3)) && !.compare("name", .equal, .null)`.
extension ObjectPredicate {
    /// Returns a comparison of a key path with a value.
    public static func compare(
        _ keyPath: String, _ op: Comparison.Operator, _ value: Value,
        options: Comparison.Options = [], quantifier: Comparison.Quantifier = .direct
    ) -> ObjectPredicate {
        .comparison(
            Comparison(
                path(keyPath), op, .constant(value), options: options, quantifier: quantifier))
    }

    /// Returns a comparison of a key path with an object.
    public static func compare(
        _ keyPath: String, _ op: Comparison.Operator, _ object: ObjectID,
        quantifier: Comparison.Quantifier = .direct
    ) -> ObjectPredicate {
        .comparison(Comparison(path(keyPath), op, .object(object), quantifier: quantifier))
    }

    /// Returns a predicate that is true if the object itself is one of the given objects.
    public static func isOne(of objects: [ObjectID]) -> ObjectPredicate {
        .comparison(Comparison(.selfObject, .in, .list(objects.map { .object($0) })))
    }

    private static func path(_ text: String) -> QueryExpression {
        .keyPath(text.split(separator: ".", omittingEmptySubsequences: false).map(String.init))
    }

    /// Returns a predicate that is true if both predicates are true.
    public static func && (a: ObjectPredicate, b: ObjectPredicate) -> ObjectPredicate {
        .and([a, b])
    }

    /// Returns a predicate that is true if at least one of the predicates is true.
    public static func || (a: ObjectPredicate, b: ObjectPredicate) -> ObjectPredicate {
        .or([a, b])
    }

    /// Returns a predicate that is true if the given one is false.
    public static prefix func ! (part: ObjectPredicate) -> ObjectPredicate { .not(part) }
}
