import TestSupport
import Testing

@testable import TandemModel

/// Patterns that must match an entire text.
struct PatternTests {
    private func matches(_ pattern: String, _ text: String) throws -> Bool? {
        try TextPattern(pattern).matches(text)
    }

    @Test(arguments: [
        ("", "", true), ("", "a", false), ("abc", "abc", true), ("abc", "abcd", false),
        ("bc", "abc", false), ("a.c", "aßc", true), ("a.c", "a\nc", false), ("a|bc", "bc", true),
        ("(a|b)*c", "ababc", true), ("(?:ab)+", "abab", true), ("(?:ab)+", "aba", false),
        ("[A-Z]{3}-\\d+", "CMR-90", true), ("[A-Z]{3}-\\d+", "CM-90", false),
        ("[^0-9]+", "äöü", true), ("[^0-9]+", "ä1", false), ("[-a]+", "a-", true),
        ("[a-]+", "-a", true), ("[\\]\\\\]+", "]\\", true), ("[\\w.]+@[a-z]+", "a.B_9@x", true),
        ("\\D\\W\\S", "a-b", true), ("\\s*", " \t\r\n", true), ("\\.", ".", true),
        ("\\.", "a", false), ("^a$", "a", true), ("a^b", "ab", false), ("a{0}b", "b", true),
        ("a{2,3}?", "aaa", true), ("a{2,3}", "aaaa", false), ("a{2,}", "a", false),
        ("()*a", "a", true), ("(a*)*", "aaaa", true), ("x{0,2}|y", "y", true),
    ])
    func `a text matches as a whole or not at all`(pattern: String, text: String, expected: Bool)
        throws
    {
        #expect(try matches(pattern, text) == expected)
    }

    @Test(arguments: [
        "(", ")", "(?=a)", "[a", "[]", "[z-a]", "[\\d-z]", "[[:alpha:]]", "*", "a**", "a*+", "a{",
        "a{2", "a{,2}", "a{3,2}", "a{1001}", "a{99999999999999999999}", "\\", "\\b", "\\1",
        "\\p{L}",
        "((a{200}){200})", "(((){1000}){1000}){1000}", "[\\D]",
        String(repeating: "(", count: 400) + String(repeating: ")", count: 400),
        String(repeating: "a", count: 1_001),
    ])
    func `unknown syntax is refused, and nothing traps`(pattern: String) {
        #expect(throws: PatternError.self) { try TextPattern(pattern) }
    }

    @Test func `an error names the character`() {
        let error = #expect(throws: PatternError.self) { try TextPattern("ab\\p{L}") }
        #expect(error?.description == "at character 3: \\p is not supported")
    }

    @Test
    func `law 8: a catastrophic pattern takes linear time, and a match that takes too long stops`()
        throws
    {
        let text = String(repeating: "a", count: 5_000)
        #expect(try matches("(a+)+$", text + "b") == false)
        #expect(try matches("(a|aa)+", text) == true)
        let wide = try TextPattern("(a?){600}")
        #expect(wide.matches(String(repeating: "a", count: 600)) == true)
        #expect(wide.matches(String(repeating: "a", count: 1_000_000)) == false)
        // Steps that consume no characters take time too.
        let bars = try TextPattern("(?:a" + String(repeating: "|", count: 990) + ")*")
        #expect(bars.matches(String(repeating: "a", count: 10_000)) == nil)
        let many = try TextPattern("([ab]*a[ab]{40})*")
        #expect(many.matches(String(repeating: "ab", count: 100_000), steps: 10_000) == nil)
    }

    @Test func `random patterns match what Swift's own expressions match`() throws {
        let seed = seed
        var random = SplitMix64(seed: seed)
        for _ in 0..<400 {
            let pattern = randomPattern(depth: 3, &random)
            let mine = try TextPattern(pattern)
            let other = try Regex(pattern)
            for _ in 0..<8 {
                let length = Int.random(in: 0...6, using: &random)
                let text = String(
                    (0..<length).map { _ in "abc".randomElement(using: &random) ?? "a" })
                let expected = (try other.wholeMatch(in: text)) != nil
                #expect(
                    mine.matches(text) == expected, "\(pattern) with \(text), TANDEM_SEED=\(seed)")
            }
        }
    }

    private func randomPattern(depth: Int, _ random: inout SplitMix64) -> String {
        let part = { (random: inout SplitMix64) in randomPattern(depth: depth - 1, &random) }
        switch Int.random(in: 0...(depth > 0 ? 7 : 2), using: &random) {
        case 0: return "a"
        case 1: return "[ab]"
        case 2: return "[^a]"
        case 3, 4: return part(&random) + part(&random)
        case 5: return "(?:\(part(&random))|\(part(&random)))"
        case 6: return "(?:\(part(&random)))*"
        default: return "(?:\(part(&random))){0,2}"
        }
    }
}
