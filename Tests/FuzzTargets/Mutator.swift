import TandemIO

/// Changes inputs at random, reproducibly by seed, as a fuzzer does without coverage.
package struct Mutator {
    private var random: SeededGenerator
    private let corpus: [[UInt8]]

    /// Creates a mutator of a corpus, which must not be empty.
    package init(_ corpus: [[UInt8]], seed: UInt64) {
        precondition(!corpus.isEmpty, "There is nothing to change.")
        self.corpus = corpus
        random = SeededGenerator(seed: seed)
    }

    /// Returns another input: one of the corpus with one to four changes.
    package mutating func next() -> [UInt8] {
        var bytes = pick()
        for _ in 0...below(4) { change(&bytes) }
        return Array(bytes.prefix(4_096))
    }

    private mutating func below(_ bound: Int) -> Int { Int.random(in: 0..<bound, using: &random) }

    private mutating func pick() -> [UInt8] { corpus[below(corpus.count)] }

    private static let extremes: [UInt8] = [0, 1, 0x20, 0x7f, 0x80, 0xfe, 0xff]

    private mutating func change(_ bytes: inout [UInt8]) {
        let place = below(bytes.count + 1)
        let end = min(bytes.count, place + 1 + below(16))
        switch below(7) {
        case 0 where place < bytes.count: bytes[place] ^= 1 << UInt8(below(8))
        case 1 where place < bytes.count: bytes[place] = Self.extremes[below(Self.extremes.count)]
        case 2: bytes.removeSubrange(place..<end)
        case 3: bytes.insert(contentsOf: bytes[place..<end], at: below(bytes.count + 1))
        case 4: bytes.insert(UInt8(below(256)), at: place)
        case 5: bytes = Array(bytes.prefix(place)) + pick().suffix(64)
        default: bytes.replaceSubrange(place..<end, with: pick().prefix(end - place))
        }
    }
}
