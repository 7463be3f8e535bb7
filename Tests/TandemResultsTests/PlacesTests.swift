import TandemModel
import TandemQuery
import Testing

@testable import TandemResults

/// Lists and tables that are made of the places of an answer, against those made of rows one by one.
struct PlacesTests {
    /// Rows as an answer gives them; links to objects of the given numbers go in turns.
    private static func places(
        _ rows: [ResultRow], reached: [UInt64] = [], _ random: inout SplitMix64
    ) -> ListPlaces {
        let names = rows.map(\.section).reduce(into: [String]()) {
            if !$0.contains($1) { $0.append($1) }
        }
        var places = ListPlaces(
            sections: names, reached: reached.map { ObjectReference(tag: 3, number: $0) },
            hops: reached.isEmpty ? 0 : 2)
        for row in rows {
            row.sortKey.withUnsafeBytes {
                places.append(
                    ObjectReference(tag: row.entityTag, number: row.number), key: $0,
                    section: UInt32(names.firstIndex(of: row.section) ?? 0))
            }
            for hop in 0..<places.hops {
                let link = Int.random(in: 0...reached.count, using: &random)
                places.append(link: UInt32(link), hop: hop)
            }
        }
        return places
    }

    @Test(arguments: [(true, 5, 0), (true, 5, 400), (true, 90, 900), (false, 3, 700)])
    func law4AListOfPlacesIsTheListOfTheirRows(_ isSectioned: Bool, _ sections: Int, _ rows: Int) {
        let seed = SplitMix64.seed(71)
        var world = RandomTests.World(seed: seed)
        world.reference = Reference((0..<rows).map { _ in world.fresh(sections) })
        // Numbers that need all their bits, and only one tag now and then.
        let hasOneTag = Bool.random(using: &world.random)
        let sorted = world.reference.rows.values.map { row in
            var row = row
            if row.number % 9 == 0 { row.number <<= 33 }
            if hasOneTag { row.entityTag = 4 }
            return row
        }.sorted { $0.precedes($1) }
        let places = Self.places(sorted, &world.random)
        guard var list = SectionedList(sectioned: isSectioned, places: places) else {
            Issue.record("places in order make no list; seed \(seed)")
            return
        }
        var other = SectionedList(sectioned: isSectioned, rows: sorted)
        StoreTests().checkInvariants(list.rows)
        for round in 0..<40 {
            #expect(list.sectionIDs == other.sectionIDs, "seed \(seed) round \(round)")
            #expect(list.allRows == other.allRows, "seed \(seed) round \(round)")
            let edits = world.edits(sections)
            let (mine, theirs) = (list.apply(edits), other.apply(edits))
            #expect("\(mine)" == "\(theirs)", "seed \(seed) round \(round)")
        }
        StoreTests().checkInvariants(list.rows)
    }

    @Test(arguments: [
        [row(1, [2], "a"), row(2, [1], "a")],
        [row(2, [1], "a"), row(1, [1], "a")],
        [row(1, [1], "a"), row(1, [2], "a")],
        [row(1, [1], "a"), row(2, [2], "b"), row(3, [3], "a")],
        [row(1, [1, 0], "a"), row(2, [1], "a")],
    ])
    func placesOutOfOrderMakeNoList(_ rows: [ResultRow]) {
        var random = SplitMix64(seed: 1)
        let places = Self.places(rows, &random)
        #expect(SectionedList(sectioned: true, places: places) == nil)
    }

    @Test func aNumberThatIsThereTwiceFarApartMakesNoList() {
        var random = SplitMix64(seed: 1)
        var rows = (1...400).map { row(UInt64($0), [UInt8($0 / 256), UInt8($0 % 256)]) }
        rows[399].number = 7
        #expect(SectionedList(sectioned: false, places: Self.places(rows, &random)) == nil)
    }

    @Test(arguments: [(1, 300), (40, 2_000), (2_500, 2_000)])
    func aLinkTableOfPlacesHoldsWhatTheirLinksSay(_ objects: Int, _ rows: Int) {
        let seed = SplitMix64.seed(72)
        var random = SplitMix64(seed: seed)
        let numbers = (1...UInt64(rows)).map { $0 % 50 == 0 ? $0 << 33 : $0 }
            .shuffled(using: &random)
        let reached = (1...UInt64(objects)).map { $0 * 3 }.shuffled(using: &random)
        let list = numbers.map { row($0, [0]) }
        // One that is named twice is one object all the same.
        for reached in [reached, reached + reached.prefix(1)] {
            let places = Self.places(list, reached: reached, &random)
            for hop in 0..<2 {
                var truth: [UInt64: Set<UInt64>] = [:]
                for (index, row) in numbers.enumerated() {
                    let place = Int(places.links(index)[hop])
                    if place > 0 { truth[reached[place - 1], default: []].insert(row) }
                }
                let table = LinkTable(places, hop: hop)
                #expect(table.objects == truth.keys.sorted(), "seed \(seed)")
                #expect(table.count == truth.values.reduce(0) { $0 + $1.count }, "seed \(seed)")
                for object in reached {
                    #expect(table.rows(for: object) == (truth[object] ?? []).sorted())
                    #expect(table.isReached(object) == (truth[object] != nil), "seed \(seed)")
                }
                #expect(!table.isReached(1) && !table.isReached(1 << 40))
            }
        }
        #expect(!LinkTable().isReached(3))
    }

    @Test func ascendingOrderIsThatOfASort() {
        let seed = SplitMix64.seed(73)
        var random = SplitMix64(seed: seed)
        for bits in [0, 1, 10, 11, 12, 33, 63, 64] {
            let base = UInt64.random(in: 0...(1 << 20), using: &random)
            let numbers = (0..<500).map { _ -> UInt64 in
                bits == 0
                    ? base
                    : base &+ UInt64.random(in: 0...(.max >> UInt64(64 - bits)), using: &random)
            }
            let expected = numbers.indices.sorted { (numbers[$0], $0) < (numbers[$1], $1) }
            #expect(ascendingOrder(of: numbers).map(Int.init) == expected, "seed \(seed) \(bits)")
        }
        #expect(ascendingOrder(of: []).isEmpty)
    }
}
