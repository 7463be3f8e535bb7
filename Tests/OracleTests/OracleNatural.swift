/// A reference implementation of natural order: case is ignored, and digits sort by their number.
struct OracleNatural: Comparable {
    /// A letter with its code point, or a number, which sorts where a digit would.
    private struct Part: Comparable {
        var place: UInt32
        var number = 0

        static func < (a: Part, b: Part) -> Bool { (a.place, a.number) < (b.place, b.number) }
    }

    /// The name of SQLite's collation.
    static let collation = "by_number"

    private var parts: [Part] = []
    /// The number of leading zeros of each number, compared if everything else is equal.
    private var zeros: [Int] = []

    init(_ text: String) {
        var rest = Substring(OracleRequest.Key.folding.folded(text)).unicodeScalars
        while let first = rest.first {
            let digits = Substring(rest.prefix { ("0"..."9").contains($0) })
            if let number = Int(digits) {
                parts.append(Part(place: 0x30, number: number))
                zeros.append(digits.count - "\(number)".count)
                rest.removeFirst(digits.count)
            } else {
                parts.append(Part(place: first.value))
                rest.removeFirst()
            }
        }
    }

    /// Creates a text from SQLite's bytes.
    init(_ bytes: UnsafeRawPointer?, _ count: Int32) {
        self.init(
            String(
                decoding: UnsafeRawBufferPointer(start: bytes, count: Int(count)), as: UTF8.self))
    }

    static func < (a: OracleNatural, b: OracleNatural) -> Bool {
        if a.parts != b.parts { return a.parts.lexicographicallyPrecedes(b.parts) }
        return a.zeros.lexicographicallyPrecedes(b.zeros)
    }
}
