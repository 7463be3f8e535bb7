public import TandemModel

/// A condition on a slot that every matching object satisfies, for a planner.
///
/// Values have the column's type. The constraints together are necessary, but not sufficient.
public struct SlotConstraint: Hashable, Sendable {
    /// One bound of a range.
    public struct Bound: Hashable, Sendable {
        /// The value of the bound.
        public var value: Value
        /// Whether the value is in the range.
        public var inclusive: Bool

        /// Creates a bound.
        public init(_ value: Value, inclusive: Bool) {
            self.value = value
            self.inclusive = inclusive
        }
    }

    /// The condition on the slot's value.
    public enum Condition: Hashable, Sendable {
        /// The slot has this value, which may be null.
        case equals(Value)
        /// The slot has one of these values, which are distinct and not null.
        case anyOf([Value])
        /// The slot has a value between these bounds, and not null.
        case range(lower: Bound?, upper: Bound?)
        /// The slot has a text with this prefix.
        case prefix(String)
    }

    /// The attribute or to-one relationship.
    public var slot: Int
    /// The condition on its value.
    public var condition: Condition

    /// Creates a constraint on a slot.
    public init(slot: Int, _ condition: Condition) {
        self.slot = slot
        self.condition = condition
    }
}
