package import TandemModel

/// A condition on the value of one slot that every matching object satisfies, for a planner.
///
/// Values have the column's type. The constraints of a request are necessary for a match, but not
/// always sufficient.
package struct SlotConstraint: Hashable, Sendable {
    /// One bound of a range.
    package struct Bound: Hashable, Sendable {
        /// The value of the bound.
        package var value: PropertyValue
        /// Whether the value is in the range.
        package var inclusive: Bool

        /// Creates a bound.
        package init(_ value: PropertyValue, inclusive: Bool) {
            self.value = value
            self.inclusive = inclusive
        }
    }

    /// The condition on the slot's value.
    package enum Condition: Hashable, Sendable {
        /// The slot has this value, which may be null.
        case equals(PropertyValue)
        /// The slot has one of these values, which are distinct and not null.
        case anyOf([PropertyValue])
        /// The slot has a non-null value between these bounds.
        case range(lower: Bound?, upper: Bound?)
        /// The slot has a text with this prefix.
        case prefix(String)
    }

    /// The attribute or to-one relationship.
    package var slot: Int
    /// The condition on its value.
    package var condition: Condition

    /// Creates a constraint on a slot.
    package init(slot: Int, _ condition: Condition) {
        self.slot = slot
        self.condition = condition
    }
}
