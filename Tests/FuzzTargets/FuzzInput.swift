/// Reads choices from an input; after its end, every choice is 0.
struct FuzzInput {
    private var left: ArraySlice<UInt8>

    init(_ bytes: [UInt8]) { left = bytes[...] }

    var isEmpty: Bool { left.isEmpty }

    mutating func byte() -> UInt8 { left.popFirst() ?? 0 }

    /// Reads a number below `bound`.
    mutating func choice(_ bound: Int) -> Int { Int(byte()) % bound }

    /// Reads two bytes as a little-endian number.
    mutating func word() -> Int { Int(byte()) | Int(byte()) << 8 }

    /// Reads at most `count` bytes.
    mutating func consume(_ count: Int) -> [UInt8] {
        defer { left = left.dropFirst(count) }
        return Array(left.prefix(count))
    }

    /// Reads the rest.
    mutating func rest() -> [UInt8] { consume(left.count) }
}
