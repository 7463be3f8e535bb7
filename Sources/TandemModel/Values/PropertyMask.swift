/// A set of properties of one entity, by slot; at most ``capacity`` properties.
@usableFromInline package struct PropertyMask: Hashable, Sendable {
    /// The slots 0 to 63.
    @usableFromInline package var low: UInt64
    /// The slots 64 to 127.
    @usableFromInline package var high: UInt64

    /// The maximum number of properties of an entity, inherited ones included.
    @usableFromInline package static let capacity = 128

    /// Creates the empty set.
    @inlinable
    package init() {
        low = 0
        high = 0
    }

    /// Creates the set with the given words.
    @inlinable
    package init(low: UInt64, high: UInt64) {
        self.low = low
        self.high = high
    }

    /// Creates the set of the given slots.
    @inlinable
    package init(_ slots: some Sequence<Int>) {
        self.init()
        for slot in slots { insert(slot) }
    }

    /// Whether the set is empty.
    @inlinable package var isEmpty: Bool { low | high == 0 }

    /// Adds a slot.
    @inlinable
    package mutating func insert(_ slot: Int) {
        if slot < 64 { low |= 1 << UInt64(slot) } else { high |= 1 << UInt64(slot - 64) }
    }

    /// Removes a slot.
    @inlinable
    package mutating func remove(_ slot: Int) {
        if slot < 64 { low &= ~(1 << UInt64(slot)) } else { high &= ~(1 << UInt64(slot - 64)) }
    }

    /// Returns whether the slot is in the set.
    @inlinable
    package func contains(_ slot: Int) -> Bool {
        slot < 64 ? low & (1 << UInt64(slot)) != 0 : high & (1 << UInt64(slot - 64)) != 0
    }

    /// Returns the slots that are in either set.
    @inlinable
    package func union(_ other: PropertyMask) -> PropertyMask {
        PropertyMask(low: low | other.low, high: high | other.high)
    }

    /// Returns the slots that are in both sets.
    @inlinable
    package func intersection(_ other: PropertyMask) -> PropertyMask {
        PropertyMask(low: low & other.low, high: high & other.high)
    }

    /// Returns the slots that are not in the other set.
    @inlinable
    package func subtracting(_ other: PropertyMask) -> PropertyMask {
        PropertyMask(low: low & ~other.low, high: high & ~other.high)
    }

    /// Returns whether all slots are below `count`.
    @inlinable
    package func isWithin(_ count: Int) -> Bool {
        let used =
            high != 0 ? 128 - high.leadingZeroBitCount : 64 - low.leadingZeroBitCount
        return used <= count
    }

    /// The slots in ascending order.
    @usableFromInline package var slots: [Int] { Array(self) }
}

extension PropertyMask: Sequence {
    /// An iterator over the slots in ascending order, without allocations.
    @usableFromInline package struct Iterator: IteratorProtocol {
        @usableFromInline var rest: PropertyMask

        @inlinable
        init(_ mask: PropertyMask) { rest = mask }

        /// Returns the next slot.
        @inlinable
        package mutating func next() -> Int? {
            if rest.low != 0 {
                defer { rest.low &= rest.low - 1 }
                return rest.low.trailingZeroBitCount
            }
            guard rest.high != 0 else { return nil }
            defer { rest.high &= rest.high - 1 }
            return 64 + rest.high.trailingZeroBitCount
        }
    }

    /// The number of slots.
    @inlinable package var underestimatedCount: Int { low.nonzeroBitCount + high.nonzeroBitCount }

    /// Returns an iterator that begins with the lowest slot.
    @inlinable
    package func makeIterator() -> Iterator { Iterator(self) }
}
