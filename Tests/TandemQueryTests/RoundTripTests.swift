import TandemModel
import TandemQuery
import TestSupport
import Testing

struct RoundTripTests {
    @Test func `printed predicates parse to the same predicates`() throws {
        let seed = seed
        var random = RandomPredicate(random: SplitMix64(seed: seed))
        for _ in 0..<1_000 {
            let predicate = random.predicate()
            let text = predicate.format
            let parsed = try PredicateTree(format: text)
            #expect(parsed == predicate, "seed \(seed): \(text)")
            #expect(parsed.format == text, "seed \(seed)")
        }
    }

    @Test func `requests survive encoding and decoding`() throws {
        let seed = seed
        var random = RandomPredicate(random: SplitMix64(seed: seed))
        for index in 0..<500 {
            let request = FetchDescriptor(
                entity: "Team",
                predicate: index % 5 == 0 ? nil : ObjectPredicate(random.predicate()),
                sort: [
                    SortComponent("wins", ascending: false),
                    SortComponent("name", selector: .caseInsensitiveCompare),
                    SortComponent("code", selector: .naturalCompare),
                ],
                limit: index % 2 == 0 ? 3 : nil, offset: index, includesSubentities: index % 3 == 0)
            var writer = ByteWriter()
            request.encode(into: &writer)
            var reader = ByteReader(writer.bytes)
            #expect(try FetchDescriptor(from: &reader) == request, "seed \(seed)")
            #expect(reader.isAtEnd)
        }
    }

    @Test func `damaged requests never trap`() {
        let seed = seed
        var random = RandomPredicate(random: SplitMix64(seed: seed))
        for _ in 0..<300 {
            var writer = ByteWriter()
            FetchDescriptor(entity: "Team", predicate: ObjectPredicate(random.predicate()))
                .encode(into: &writer)
            var bytes = writer.bytes
            for _ in 0..<3 {
                let at = Int.random(in: 0..<bytes.count, using: &random.random)
                bytes[at] = UInt8.random(in: 0...255, using: &random.random)
            }
            bytes.removeLast(Int.random(in: 0...2, using: &random.random))
            var reader = ByteReader(bytes)
            if let request = try? FetchDescriptor(from: &reader) {
                _ = request.predicate?.description
            }
        }
    }

    @Test func `deeply nested bytes are refused`() {
        var writer = ByteWriter()
        FetchDescriptor(entity: "Team", predicate: ObjectPredicate(.constant(true)))
            .encode(into: &writer)
        let head = Array(writer.bytes.prefix(8))
        let deep = head + Array(repeating: 4, count: 100_000)
        var reader = ByteReader(deep)
        #expect(throws: CodingError.self) { try FetchDescriptor(from: &reader) }
    }

    @Test func `a leading minus means descending order`() {
        #expect(("-wins" as SortComponent) == SortComponent("wins", ascending: false))
        #expect(SortComponent("wins").ascending)
        let text = "-"
        #expect(SortComponent(text) == nil)
    }

    @Test(arguments: SortComponent.Selector.allCases, [true, false])
    func `printed sort keys parse to the same sort keys`(
        _ selector: SortComponent.Selector, _ ascending: Bool
    ) {
        let key = SortComponent("league.name", ascending: ascending, selector: selector)
        #expect(SortComponent(key.description) == key)
        #expect(SortComponent.Selector(name: selector.name) == selector)
    }

    @Test(arguments: [
        ("name:naturalCompare", SortComponent("name", selector: .naturalCompare)),
        (
            "-name:naturalCompare:",
            SortComponent("name", ascending: false, selector: .naturalCompare)
        ),
        ("name:compare", SortComponent("name")), ("name:", nil), (":naturalCompare", nil),
        ("-:", nil),
        ("name:natural", nil), ("name:naturalCompare:compare", nil),
    ])
    func aColonNamesTheSelector(_ text: String, _ key: SortComponent?) {
        #expect(SortComponent(text) == key)
    }
}
