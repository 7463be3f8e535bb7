public import TandemModel

/// Predicates without text: `.compare("wins", .greater, .int(3)) && !.compare("name", .equal, .null)`.
extension ObjectPredicate {
    /// What a key path reaches, compared with a value.
    public static func compare(
        _ keyPath: String, _ op: Comparison.Operator, _ value: Value,
        options: Comparison.Options = [], quantifier: Comparison.Quantifier = .direct
    ) -> ObjectPredicate {
        .comparison(
            Comparison(
                path(keyPath), op, .constant(value), options: options, quantifier: quantifier))
    }

    /// What a key path reaches, compared with an object.
    public static func compare(
        _ keyPath: String, _ op: Comparison.Operator, _ object: ObjectID,
        quantifier: Comparison.Quantifier = .direct
    ) -> ObjectPredicate {
        .comparison(Comparison(path(keyPath), op, .object(object), quantifier: quantifier))
    }

    /// The object itself is one of these.
    public static func isOne(of objects: [ObjectID]) -> ObjectPredicate {
        .comparison(Comparison(.selfObject, .in, .list(objects.map { .object($0) })))
    }

    private static func path(_ text: String) -> QueryExpression {
        .keyPath(text.split(separator: ".", omittingEmptySubsequences: false).map(String.init))
    }

    /// Both hold.
    public static func && (a: ObjectPredicate, b: ObjectPredicate) -> ObjectPredicate {
        .and([a, b])
    }

    /// One holds.
    public static func || (a: ObjectPredicate, b: ObjectPredicate) -> ObjectPredicate {
        .or([a, b])
    }

    /// The other does not hold.
    public static prefix func ! (part: ObjectPredicate) -> ObjectPredicate { .not(part) }
}
