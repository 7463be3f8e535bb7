/// The random 128-bit identifier of a log, generated when a store is created.
@usableFromInline package struct LogID: Hashable, Sendable, LosslessStringConvertible {
    /// The first eight bytes, as a big-endian number.
    package let high: UInt64
    /// The last eight bytes, as a big-endian number.
    package let low: UInt64

    /// Creates an id from its halves.
    @usableFromInline package init(high: UInt64, low: UInt64) {
        self.high = high
        self.low = low
    }

    /// Parses 32 hexadecimal digits, with or without the dashes of a UUID.
    @usableFromInline package init?(_ description: String) {
        let digits = description.filter { $0 != "-" }
        guard digits.utf8.count == 32, let high = UInt64(digits.prefix(16), radix: 16),
            let low = UInt64(digits.suffix(16), radix: 16)
        else { return nil }
        self.init(high: high, low: low)
    }

    /// The printed form, a UUID in lower case.
    @usableFromInline package var description: String {
        let text = LogID.hex(high) + LogID.hex(low)
        let cuts = [0, 8, 12, 16, 20, 32]
        let digits = Array(text)
        return zip(cuts, cuts.dropFirst()).map { String(digits[$0..<$1]) }.joined(separator: "-")
    }

    private static func hex(_ value: UInt64) -> String {
        let text = String(value, radix: 16)
        return String(repeating: "0", count: 16 - text.count) + text
    }
}
