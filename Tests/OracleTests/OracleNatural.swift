/// A text as natural order sees it, by what that means: case does not count, and digits count by the number that they write.
struct OracleNatural: Comparable {
    /// A letter, by its code, or a number, which stands where digits stand.
    private struct Part: Comparable {
        var place: UInt32
        var number = 0

        static func < (a: Part, b: Part) -> Bool { (a.place, a.number) < (b.place, b.number) }
    }

    /// What SQLite calls it.
    static let collation = "by_number"

    private var parts: [Part] = []
    /// How many zeros before each number could go; they count where nothing else differs.
    private var zeros: [Int] = []

    init(_ text: String) {
        var rest = Substring(OracleQuestion.Key.folding.folded(text)).unicodeScalars
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

    /// The text of SQLite's bytes.
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
