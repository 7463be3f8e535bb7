public import TandemModel

/// The value of a `%@`, `%d` or `%K` in a predicate's text.
public enum PredicateArgument: Hashable, Sendable {
    /// A value, for `%@`; an integer also for `%d` and `%i`, a number for `%f`, a string for `%K`.
    case value(Value)
    /// An object, for `%@`.
    case object(ObjectID)
    /// Several arguments, for `IN %@` and `BETWEEN %@`.
    case list([PredicateArgument])
    /// A key path, for `%K`.
    case keyPath(String)
}
