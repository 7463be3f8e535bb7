/// A value of one slot.
@usableFromInline package struct SlotValue: Hashable, Sendable {
    /// The slot of the property.
    @usableFromInline package var slot: Int
    /// The value of the slot.
    @usableFromInline package var value: PropertyValue

    /// Creates the value of a slot.
    @inlinable
    package init(slot: Int, value: PropertyValue) {
        self.slot = slot
        self.value = value
    }
}
