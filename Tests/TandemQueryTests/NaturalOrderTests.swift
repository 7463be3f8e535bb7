import TandemQuery
import TestSupport
import Testing

/// Natural order, compared with a plain comparison of the same texts split into words and numbers.
struct NaturalOrderTests {
    private func isBefore(_ a: String, _ b: String) -> Bool {
        NaturalOrder.key(a).lexicographicallyPrecedes(NaturalOrder.key(b))
    }

    @Test(arguments: [
        [
            "", " ", "-", "0", "00", "1", "01", "001", "2", "10", "010", "a", "a1", "a01", "a1b",
            "a2",
        ],
        ["1.2", "1.02", "1.10", "1a", "2"], ["a\u{0}", "a\u{1}", "a\u{2}", "a b", "a1", "ab"],
        ["x9y", "x09y", "x9z", "x10"], ["a", "a0", "a00", "a1", "a:", "b"],
        ["1-1", "1-01", "01-1", "01-01", "1-2", "01-2", "2-1"], ["-1", "-2", "-10"],
        ["v1.9", "v1.10", "v2"], ["9", "٩9", "100"],
        ["e1", "e2", "é1", "é2"], ["/1", "0", "9", ":", ";1"],
    ])
    func `sample texts are in natural order`(_ texts: [String]) {
        for (place, text) in texts.enumerated() {
            for later in texts[(place + 1)...] {
                #expect(isBefore(text, later), "\(text) before \(later)")
                #expect(!isBefore(later, text), "\(later) not before \(text)")
            }
        }
    }

    @Test(arguments: [("File 2", "fILE 2"), ("Straße 3", "STRASSE 3"), ("٣", "3"), ("３", "3")])
    func `sample texts are equal in natural order`(_ a: String, _ b: String) {
        #expect(NaturalOrder.key(a) == NaturalOrder.key(b))
    }

    @Test(arguments: [1, 9, 18, 19, 20, 253, 254, 255, 508, 70_000])
    func `numbers with any number of digits are compared`(_ count: Int) {
        let nines = String(repeating: "9", count: count)
        #expect(isBefore("n" + nines, "n1" + String(repeating: "0", count: count)))
        #expect(isBefore("n" + nines.dropLast() + "8", "n" + nines))
        #expect(isBefore("n" + nines, "n0" + nines))
        let zeros = String(repeating: "0", count: count)
        #expect(isBefore(zeros + "1", zeros + "01"))
        #expect(isBefore(zeros + "1", "2"))
    }

    @Test func `random texts sort as by a plain comparison`() {
        let seed = seed
        var random = SplitMix64(seed: seed)
        let pieces = [
            "0", "0", "1", "2", "9", "10", "a", "B", "b", " ", "-", ":", "é", "٢", "\u{0}",
        ]
        func text() -> String {
            (0..<Int.random(in: 0...6, using: &random)).map { _ in
                pieces[Int.random(in: 0..<pieces.count, using: &random)]
            }.joined()
        }
        for _ in 0..<5_000 {
            let (a, b) = (text(), text())
            #expect(isBefore(a, b) == Plain(a).isBefore(Plain(b)), "seed \(seed): \(a) and \(b)")
        }
    }

    @Test func `the version of the Unicode tables is a version number`() throws {
        let parts = UnicodeTables.version.split(separator: ".").compactMap { Int($0) }
        #expect(parts.count == 2)
        #expect(try #require(parts.first) >= 15)
    }
}

/// A text split into words and numbers, which are compared without any key.
private struct Plain {
    /// A character below all others marks the end.
    private var parts: [(order: UInt32, number: [Int])] = []
    private var zeros: [Int] = []

    init(_ text: String) {
        var digits: [Int] = []
        for scalar in text.lowercased().unicodeScalars {
            if let digit = Character(scalar).wholeNumberValue {
                digits.append(digit)
                continue
            }
            end(&digits)
            parts.append((scalar.value, []))
        }
        end(&digits)
    }

    private mutating func end(_ digits: inout [Int]) {
        guard !digits.isEmpty else { return }
        let number = Array(digits.drop { $0 == 0 })
        zeros.append(digits.count - max(1, number.count))
        parts.append((0x30, number))
        digits = []
    }

    func isBefore(_ other: Plain) -> Bool {
        for (mine, its) in zip(parts, other.parts) {
            if mine.order != its.order { return mine.order < its.order }
            if mine.number.count != its.number.count { return mine.number.count < its.number.count }
            if mine.number != its.number {
                return mine.number.lexicographicallyPrecedes(its.number)
            }
        }
        if parts.count != other.parts.count { return parts.count < other.parts.count }
        return zeros.lexicographicallyPrecedes(other.zeros)
    }
}
