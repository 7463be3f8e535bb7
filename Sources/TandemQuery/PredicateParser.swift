public import TandemModel

extension ObjectPredicate {
    /// Parses a predicate's text, with `arguments` for `%@` and its like in order.
    public init(
        format: String, arguments: [PredicateArgument] = []
    ) throws(TandemError) {
        throw TandemError(.invalidPredicate, "not yet")
    }

    /// The text that parses to this predicate.
    public var format: String { "" }
}
