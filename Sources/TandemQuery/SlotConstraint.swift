public import TandemModel

/// Something that holds for a slot of every object that matches a request; food for a planner.
///
/// Values are of the column's type. Together the constraints are necessary, not sufficient.
public struct SlotConstraint: Hashable, Sendable {
    /// One end of a range.
    public struct Bound: Hashable, Sendable {
        /// The value at the end.
        public var value: Value
        /// Whether it is in the range.
        public var inclusive: Bool

        /// An end of a range.
        public init(_ value: Value, inclusive: Bool) {
            self.value = value
            self.inclusive = inclusive
        }
    }

    /// What holds.
    public enum Condition: Hashable, Sendable {
        /// The slot has this value, which may be null.
        case equals(Value)
        /// The slot has one of these values, none of them null, none twice.
        case anyOf([Value])
        /// The slot has a value, not null, between these.
        case range(lower: Bound?, upper: Bound?)
        /// The slot has a text that begins with this.
        case prefix(String)
    }

    /// The attribute or to-one relationship.
    public var slot: Int
    /// What holds for it.
    public var condition: Condition

    /// A constraint on a slot.
    public init(slot: Int, _ condition: Condition) {
        self.slot = slot
        self.condition = condition
    }
}
