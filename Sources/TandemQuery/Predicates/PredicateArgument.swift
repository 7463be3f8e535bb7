public import TandemModel

/// The value of a `%@`, `%d` or `%K` in a predicate's text.
public enum PredicateArgument: Hashable, Sendable {
    /// A value, for `%@`; also an integer for `%d`, `%i` and `%u`, a number for `%f`, and a string
    /// for `%K`.
    case value(PropertyValue)
    /// An object, for `%@`.
    case object(ObjectID)
    /// Several arguments, for `IN %@` and `BETWEEN %@`.
    case list([PredicateArgument])
    /// A key path, for `%K`.
    case keyPath(String)
}
