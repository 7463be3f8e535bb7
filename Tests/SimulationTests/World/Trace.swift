/// The events of a world, in order; equal hashes mean equal runs.
struct Trace {
    private var entries: [(what: StaticString, a: UInt64, b: UInt64, c: UInt64)] = []
    private(set) var hash: UInt64 = 0xcbf2_9ce4_8422_2325

    mutating func record(_ what: StaticString, _ a: UInt64, _ b: UInt64, _ c: UInt64) {
        entries.append((what, a, b, c))
        what.withUTF8Buffer { for byte in $0 { mix(UInt64(byte)) } }
        for number in [a, b, c] { mix(number) }
    }

    private mutating func mix(_ number: UInt64) {
        hash = (hash ^ number) &* 0x0000_0100_0000_01b3
        hash ^= hash >> 29
    }

    /// Returns the last entries, one per line.
    func tail(_ count: Int) -> String {
        entries.suffix(count).map { "  \($0.what) \($0.a) \($0.b) \($0.c)" }
            .joined(separator: "\n")
    }
}
