import TandemModel
import TestSupport
import Testing

@testable import TandemQuery

/// `LIKE`, compared with a naive matcher, and tested with texts and patterns built to be slow.
@Suite struct LikePatternTests {
    private func matches(_ text: String, _ pattern: String) -> Bool {
        Array(text.utf8).withUnsafeBytes { LikePattern(Array(pattern.utf8)).matches($0) }
    }

    /// Matches a pattern naively, character by character.
    private func means(_ text: ArraySlice<UnicodeScalar>, _ pattern: ArraySlice<UnicodeScalar>)
        -> Bool
    {
        guard let first = pattern.first else { return text.isEmpty }
        if first == "*" {
            return means(text, pattern.dropFirst())
                || !text.isEmpty && means(text.dropFirst(), pattern)
        }
        guard let character = text.first else { return false }
        if first == "?" { return means(text.dropFirst(), pattern.dropFirst()) }
        let isEscape = first == "\\" && pattern.count > 1
        let rest = isEscape ? pattern.dropFirst() : pattern
        return character == rest.first && means(text.dropFirst(), rest.dropFirst())
    }

    @Test func `a pattern matches like the naive matcher`() {
        var random = SplitMix64(seed: seed)
        let used = seed
        func made(_ letters: [String], _ most: Int) -> String {
            (0..<Int.random(in: 0...most, using: &random))
                .map { _ in letters.randomElement(using: &random) ?? "" }.joined()
        }
        for _ in 0..<20_000 {
            let text = made(["a", "b", "é", "*", "\\", "?"], 8)
            let pattern = made(["a", "b", "é", "*", "*", "?", "\\"], 6)
            let meant = means(
                ArraySlice(text.unicodeScalars), ArraySlice(pattern.unicodeScalars))
            #expect(matches(text, pattern) == meant, "seed \(used): \(text) LIKE \(pattern)")
        }
    }

    @Test func `no text and pattern take time proportional to the product of their lengths`() {
        let text = String(repeating: "a", count: 1 << 20)
        let half = String(repeating: "a", count: 1 << 19)
        #expect(!matches(text, "*\(half)b*"))
        #expect(matches(text, "*\(half)*\(half)"))
        let test = TextTest(.contains, [], half + "b")
        #expect(!test.holds(text))
    }

    @Test
    func `a long part with a ? is refused, and matches nothing if the pattern comes from a row`()
        throws
    {
        let long = String(repeating: "a", count: LikePattern.maximumWildPart)
        #expect(matches(long + "b", long.dropLast() + "?*"))
        #expect(!matches(long + "b", long + "?*"))
        let model = try CompiledModel(
            ManagedObjectModel { Entity("E") { Attribute("s", .string) } })
        func compile(_ pattern: String) throws {
            let predicate = try ObjectPredicate(
                format: "s LIKE %@", arguments: [.value(.string(pattern))])
            _ = try CompiledRequest(
                FetchDescriptor(entity: "E", predicate: predicate), in: model)
        }
        try compile(long + long)
        try compile(long.dropLast() + "?*")
        let refused = #expect(throws: TandemError.self) { try compile(long + "?") }
        #expect(refused?.code == .limitExceeded)
    }
}
