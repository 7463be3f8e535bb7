/// A position at which a client reads; the journal keeps later transactions until the pin ends.
struct PinLease {
    let position: UInt64
    /// The end of the pin, in nanoseconds of the monotonic clock.
    let ends: UInt64
}

/// The pins of a session, by the client's pin numbers.
struct PinLeases {
    private var pins: [UInt32: PinLease] = [:]

    var isEmpty: Bool { pins.isEmpty }
    var count: Int { pins.count }

    /// The pinned positions.
    var positions: [UInt64] { pins.values.map(\.position) }

    /// The earliest end of a pin; nil if there is none.
    var nextEnd: UInt64? { pins.values.lazy.map(\.ends).min() }

    subscript(number: UInt32) -> PinLease? { pins[number] }

    /// Creates or moves a pin.
    mutating func set(_ pin: PinLease, for number: UInt32) {
        assert(number != 0, "The number 0 means no pin.")
        pins[number] = pin
    }

    /// Removes a pin; returns false if there is none with the number.
    mutating func release(_ number: UInt32) -> Bool { pins.removeValue(forKey: number) != nil }

    /// Removes expired pins; returns their number.
    mutating func endExpired(at now: UInt64) -> Int { remove { $0.ends <= now } }

    /// Removes pins below a position; returns their number.
    mutating func end(below position: UInt64) -> Int { remove { $0.position < position } }

    private mutating func remove(where isOver: (PinLease) -> Bool) -> Int {
        guard pins.values.contains(where: isOver) else { return 0 }
        let before = pins.count
        pins = pins.filter { !isOver($0.value) }
        assert(pins.count < before, "A pin that is over is removed.")
        return before - pins.count
    }
}
