import TandemModel
import TestSupport
import Testing

@testable import TandemQuery

@Suite struct LongTextTests {
    @Test func `searching a long text finds the same as a plain search`() {
        var random = SplitMix64(seed: seed)
        let used = seed
        for _ in 0..<3_000 {
            let text = (0..<Int.random(in: 0...40, using: &random)).map { _ in
                UInt8.random(in: 0...2, using: &random)
            }
            let needle = (0..<Int.random(in: 1...6, using: &random)).map { _ in
                UInt8.random(in: 0...2, using: &random)
            }
            let start = text.indices.first { text[$0...].starts(with: needle) }
            let found = text.withUnsafeBytes { TextSearch.end(of: needle, in: $0) }
            #expect(found == start.map { $0 + needle.count }, "seed \(used): \(needle) in \(text)")
        }
    }

    /// If a prefix decides the result, the result must be the same for the whole text.
    @Test func `a prefix never decides wrongly`() {
        let same = String(repeating: "a", count: 512)
        let long = same + String(repeating: "b", count: 70_000)
        let needles = [
            "", "a", "b", same, same + "a", same + "b", same + "c", String(same.dropLast()) + "b",
            long, long + "b",
        ]
        let ops: [Comparison.Operator] = [
            .equal, .notEqual, .less, .lessOrEqual, .greater, .greaterOrEqual, .beginsWith,
            .endsWith, .contains, .like,
        ]
        var decided = 0
        for needle in needles {
            for op in ops {
                let test = TextTest(op, [], needle)
                guard let known = test.holds(TextReference(of: long)) else { continue }
                decided += 1
                #expect(known == test.holds(long), "\(op) \(needle.prefix(520))")
            }
        }
        #expect(decided > 30)
    }

    @Test func `without the text, conditions that depend on it are unknown, others are known`()
        throws
    {
        var graph = try Graph()
        let long = String(repeating: "x", count: 70_000)
        let team = try graph.add("Team", 1, ["name": .string(long + "y"), "wins": .int(3)])
        #expect(try graph.matches(team, "name CONTAINS 'y'") == nil)
        #expect(try graph.matches(team, "name BEGINSWITH 'x'") == true)
        #expect(try graph.matches(team, "name == 'x'") == false)
        #expect(try graph.matches(team, "name CONTAINS 'y' OR wins == 3") == true)
        #expect(try graph.matches(team, "name CONTAINS 'y' AND wins != 3") == false)
        #expect(try graph.matches(team, "name IN {'x', 'y'}") == nil)
        #expect(try graph.matches(team, "name > 'y'") == false)
        let whole: [PredicateArgument] = [.value(.string(long + "y"))]
        #expect(try graph.matches(team, "name == %@", whole) == nil)
    }
}
