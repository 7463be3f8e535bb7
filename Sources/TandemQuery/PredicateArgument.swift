public import TandemModel

/// What a `%@`, `%d` or `%K` in a predicate's text stands for.
public enum PredicateArgument: Hashable, Sendable {
    /// A value, for `%@`; an integer also for `%d` and `%i`, a number for `%f`, a string for `%K`.
    case value(Value)
    /// An object, for `%@`.
    case object(ObjectID)
    /// Several, for `IN %@` and `BETWEEN %@`.
    case list([PredicateArgument])
    /// A key path, for `%K`.
    case keyPath(String)
}
