/// Reads choices from an input; when nothing is left, every choice is 0.
struct FuzzInput {
    private var left: ArraySlice<UInt8>

    init(_ bytes: [UInt8]) { left = bytes[...] }

    var isEmpty: Bool { left.isEmpty }

    mutating func byte() -> UInt8 { left.popFirst() ?? 0 }

    /// A number below `bound`.
    mutating func choice(_ bound: Int) -> Int { Int(byte()) % bound }

    /// Two bytes, the least significant first.
    mutating func word() -> Int { Int(byte()) | Int(byte()) << 8 }

    /// At most so many bytes.
    mutating func take(_ count: Int) -> [UInt8] {
        defer { left = left.dropFirst(count) }
        return Array(left.prefix(count))
    }

    /// All that is left.
    mutating func rest() -> [UInt8] { take(left.count) }
}
