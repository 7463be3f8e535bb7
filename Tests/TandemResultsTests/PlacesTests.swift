import TandemModel
import TandemQuery
import TestSupport
import Testing

@testable import TandemResults

/// Lists and tables made from the placements of an answer, compared with those made row by row.
struct PlacesTests {
    /// Returns the placements of rows; the objects with the given numbers are linked in turn.
    private static func places(
        _ rows: [ResultRow], reached: [UInt64] = [], _ random: inout SplitMix64
    ) -> ListPlacements {
        let names = rows.map(\.section).reduce(into: [String]()) {
            if !$0.contains($1) { $0.append($1) }
        }
        var places = ListPlacements(
            sections: names, reached: reached.map { ObjectReference(tag: 3, number: $0) },
            hopCount: reached.isEmpty ? 0 : 2)
        for row in rows {
            row.sortKey.withUnsafeBytes {
                places.append(
                    ObjectReference(tag: row.entityTag, number: row.number), key: $0,
                    section: UInt32(names.firstIndex(of: row.section) ?? 0))
            }
            for hop in 0..<places.hopCount {
                let link = Int.random(in: 0...reached.count, using: &random)
                places.append(link: UInt32(link), hop: hop)
            }
        }
        return places
    }

    /// Returns the placements in chunks of at most `most` objects.
    private static func parts(
        of places: ListPlacements, upTo most: Int, _ random: inout SplitMix64
    ) -> [ListPlacements] {
        var (parts, start): ([ListPlacements], Int) = ([], 0)
        while start < places.count {
            let end = min(places.count, start + Int.random(in: 1...most, using: &random))
            parts.append(places.slice(start..<end))
            start = end
        }
        return parts
    }

    /// Returns the list made of chunks, with this number of objects announced.
    private static func list(
        of parts: [ListPlacements], _ names: [String], sectioned: Bool, count: Int
    ) -> SectionedList? {
        var builder = SectionedListBuilder(sectioned: sectioned, sections: names, count: count)
        for part in parts { builder.append(part) }
        return builder.list
    }

    /// Returns the list of an unchunked answer.
    private static func list(of places: ListPlacements, sectioned: Bool) -> SectionedList? {
        list(of: [places], places.sections, sectioned: sectioned, count: places.count)
    }

    /// Returns the content of a leaf, without its estimates.
    private static func content(_ leaf: Leaf) -> String {
        "\(leaf.section) \(leaf.prefix) \(leaf.keys) \(leaf.entries) "
            + "\((0..<leaf.count).map { (leaf.number($0), leaf.tag($0)) })"
    }

    @Test(arguments: [1, 7, 100, 1_000], [(true, 5), (true, 90), (false, 3)])
    func `law 4: a list made of chunks equals one made of the whole answer`(
        _ most: Int, _ shape: (isSectioned: Bool, sections: Int)
    ) {
        let seed = TestSeed.value(or: 74)
        var world = RandomTests.World(seed: seed)
        world.reference = Reference((0..<900).map { _ in world.fresh(shape.sections) })
        let sorted = world.reference.rows.values.sorted { $0.precedes($1) }
        let places = Self.places(sorted, &world.random)
        guard let whole = Self.list(of: places, sectioned: shape.isSectioned) else {
            Issue.record("placements in order gave no list; seed \(seed)")
            return
        }
        // The announced number of objects does not matter.
        let all = [sorted.count, 0, 10, 1 << 40]
        let isEach = most == 7 && shape.sections == 5
        for count in Volume.of(isEach ? all : [1 << 40], deep: all) {
            let parts = Self.parts(of: places, upTo: most, &world.random)
            guard
                var list = Self.list(
                    of: parts, places.sections, sectioned: shape.isSectioned, count: count)
            else {
                Issue.record("chunks in order gave no list; seed \(seed)")
                continue
            }
            StoreTests().checkInvariants(list.rows)
            #expect(list.allRows == whole.allRows, "seed \(seed)")
            #expect(list.sectionIDs == whole.sectionIDs, "seed \(seed)")
            #expect(
                list.rows.leaves.slots.map(Self.content)
                    == whole.rows.leaves.slots.map(Self.content),
                "seed \(seed)")
            var other = whole
            for round in 0..<10 {
                let edits = world.edits(shape.sections)
                let (mine, theirs) = (list.apply(edits), other.apply(edits))
                #expect(mine == theirs, "seed \(seed) round \(round)")
            }
            StoreTests().checkInvariants(list.rows)
        }
    }

    @Test(arguments: [(true, 5, 0), (true, 5, 400), (true, 90, 900), (false, 3, 700)])
    func `law 4: a list made of placements equals one made of rows`(
        _ isSectioned: Bool, _ sections: Int, _ rows: Int
    ) {
        let seed = TestSeed.value(or: 71)
        var world = RandomTests.World(seed: seed)
        world.reference = Reference((0..<rows).map { _ in world.fresh(sections) })
        // Numbers that need all their bits, and sometimes a single tag.
        let hasOneTag = Bool.random(using: &world.random)
        let sorted = world.reference.rows.values.map { row in
            var row = row
            if row.number % 9 == 0 { row.number <<= 33 }
            if hasOneTag { row.entityTag = 4 }
            return row
        }.sorted { $0.precedes($1) }
        let places = Self.places(sorted, &world.random)
        guard var list = Self.list(of: places, sectioned: isSectioned) else {
            Issue.record("placements in order gave no list; seed \(seed)")
            return
        }
        var other = SectionedList(sectioned: isSectioned, rows: sorted)
        StoreTests().checkInvariants(list.rows)
        for round in 0..<40 {
            #expect(list.sectionIDs == other.sectionIDs, "seed \(seed) round \(round)")
            #expect(list.allRows == other.allRows, "seed \(seed) round \(round)")
            let edits = world.edits(sections)
            let (mine, theirs) = (list.apply(edits), other.apply(edits))
            #expect(mine == theirs, "seed \(seed) round \(round)")
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
    func `placements out of order make no list`(_ rows: [ResultRow]) {
        var random = SplitMix64(seed: seed)
        let places = Self.places(rows, &random)
        #expect(Self.list(of: places, sectioned: true) == nil)
        // The chunks make no list either, even if the disorder is between two of them.
        for cut in 1..<rows.count {
            let parts = [places.slice(0..<cut), places.slice(cut..<rows.count)]
            let list = Self.list(of: parts, places.sections, sectioned: true, count: rows.count)
            #expect(list == nil, "cut after \(cut)")
        }
    }

    @Test func `a section without a name makes no list`() {
        var random = SplitMix64(seed: seed)
        let places = Self.places([row(1, [1], "a"), row(2, [2], "b")], &random)
        #expect(Self.list(of: [places], ["a"], sectioned: true, count: 2) == nil)
        #expect(Self.list(of: [places], [], sectioned: false, count: 2)?.count == 2)
    }

    @Test func `a number that occurs twice far apart makes no list`() {
        var random = SplitMix64(seed: seed)
        var rows = (1...400).map { row(UInt64($0), [UInt8($0 / 256), UInt8($0 % 256)]) }
        // One repeated number is in another leaf, one in the leaf that the first chunk begins and
        // the next one fills.
        for number in [UInt64(7), 398] {
            rows[399].number = number
            let places = Self.places(rows, &random)
            #expect(Self.list(of: places, sectioned: false) == nil)
            let parts = [places.slice(0..<399), places.slice(399..<400)]
            #expect(Self.list(of: parts, [], sectioned: false, count: 400) == nil)
        }
    }

    @Test(arguments: [(1, 300), (40, 2_000), (2_500, 2_000)])
    func `a link table made of placements has their links`(_ objects: Int, _ rows: Int) {
        let seed = TestSeed.value(or: 72)
        var random = SplitMix64(seed: seed)
        let numbers = (1...UInt64(rows)).map { $0 % 50 == 0 ? $0 << 33 : $0 }
            .shuffled(using: &random)
        let reached = (1...UInt64(objects)).map { $0 * 3 }.shuffled(using: &random)
        let list = numbers.map { row($0, [0]) }
        // An object named twice is still one object.
        for reached in [reached, reached + reached.prefix(1)] {
            let places = Self.places(list, reached: reached, &random)
            for hop in 0..<2 {
                var truth: [UInt64: Set<UInt64>] = [:]
                for (index, row) in numbers.enumerated() {
                    let place = Int(places.links(index)[hop])
                    if place > 0 { truth[reached[place - 1], default: []].insert(row) }
                }
                let parts = Self.parts(of: places, upTo: rows, &random)
                let links = UnindexedLinks(parts, reached: places.reached, hop: hop)
                #expect(Set(links.objects) == Set(truth.keys), "seed \(seed)")
                let table = links.table
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

    @Test func `ascending order equals that of a sort`() {
        let seed = TestSeed.value(or: 73)
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
