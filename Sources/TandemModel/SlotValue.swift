/// A value of one slot.
public struct SlotValue: Hashable, Sendable {
    /// The slot of the property.
    public var slot: Int
    /// Its value.
    public var value: Value

    /// Creates the value of a slot.
    @inlinable
    package init(slot: Int, value: Value) {
        self.slot = slot
        self.value = value
    }
}
