import TestSupport
import Testing

@testable import TandemResults

/// The tables that find rows and their related objects, compared with dictionaries and sets.
struct LinkTableTests {
    /// Returns a number; many of the numbers have the same upper half.
    private static func number(_ count: UInt64, _ random: inout SplitMix64) -> UInt64 {
        let number = UInt64.random(in: 1...count, using: &random)
        return number % 50 == 0 ? number << 33 : number
    }

    @Test(arguments: [(4, 60), (3, 3_000), (900, 1_500), (40, 3_000)])
    func `a link table has the content of two dictionaries`(_ objects: UInt64, _ rows: UInt64) {
        let seed = TestSeed.value(or: 8)
        var random = SplitMix64(seed: seed)
        var reached: [UInt64: UInt64] = [:]
        for _ in 0..<(rows / 2) {
            let object = Self.number(objects, &random)
            reached[Self.number(rows, &random)] = object
        }
        var table = LinkTable(reached.map { LinkTable.Link(row: $0.key, object: $0.value) })
        Self.check(table, reached, seed)
        let phase = Volume.of(1_200, deep: 3_000)
        for round in 0..<4 * phase {
            // The table grows, shrinks to nothing, and grows again.
            let isShrinking = round / phase % 2 == 1
            let row = isShrinking ? reached.keys.randomElement(using: &random) : nil
            let object = isShrinking ? nil : Self.number(objects, &random)
            Self.set(row ?? Self.number(rows, &random), object, &table, &reached, seed)
            if round % 500 == 0 { Self.check(table, reached, seed) }
        }
        Self.check(table, reached, seed)
        for row in reached.keys.sorted() { Self.set(row, nil, &table, &reached, seed) }
        Self.check(table, [:], seed)
    }

    private static func set(
        _ row: UInt64, _ object: UInt64?, _ table: inout LinkTable,
        _ reached: inout [UInt64: UInt64], _ seed: UInt64
    ) {
        let before = reached[row]
        let isFirst = object.map { object in !reached.values.contains(object) } ?? false
        reached[row] = object
        let isGone = before != object && before.map { !reached.values.contains($0) } ?? false
        let step = table.set(row, to: object)
        #expect(step.isFirst == isFirst, "seed \(seed)")
        #expect(step.released == (isGone ? before : nil), "seed \(seed)")
    }

    private static func check(
        _ table: LinkTable, _ reached: [UInt64: UInt64], _ seed: UInt64
    ) {
        let rows = Dictionary(grouping: reached.keys) { reached[$0] ?? 0 }
        #expect(table.count == reached.count, "seed \(seed)")
        #expect(table.objects == rows.keys.sorted(), "seed \(seed)")
        for (object, rows) in rows {
            #expect(table.rows(for: object) == rows.sorted(), "seed \(seed)")
            #expect(rows.allSatisfy { table[$0] == object }, "seed \(seed)")
        }
        #expect(table.rows(for: 1 << 62).isEmpty && table[1 << 62] == nil)
    }

    @Test func `the last of several links of a row counts`() {
        let links = [(1, 7), (2, 7), (1, 9), (3, 8), (2, 6)].map {
            LinkTable.Link(row: $0.0, object: $0.1)
        }
        let table = LinkTable(links)
        #expect(table.count == 3 && table.objects == [6, 8, 9])
        #expect(table[1] == 9 && table[2] == 6 && table[3] == 8)
    }

    @Test func `a number table has the content of a dictionary`() {
        let seed = TestSeed.value(or: 9)
        var random = SplitMix64(seed: seed)
        var places: [UInt64: Int] = [:]
        var table = NumberTable()
        for round in 0..<40_000 {
            let number = Self.number(round / 10_000 % 2 == 0 ? 4_000 : 40, &random)
            let place = Int.random(in: 0..<(round < 20_000 ? 5 : 5_000), using: &random)
            let old = places[number]
            // Every third one is removed, and in shrinking phases removals outnumber insertions.
            places[number] = round % 3 == 0 || round / 10_000 % 2 == 1 && old != nil ? nil : place
            if let old, let new = places[number] {
                if !table.move(number, from: old, to: new) { table = Self.table(places) }
            } else if let old {
                table.remove(number, at: old)
            } else if places[number] != nil, !table.insert(number, at: place) {
                table = Self.table(places)
            }
            #expect(table.count == places.count, "seed \(seed)")
            let found = table.index(of: number) { $0 == places[number] }
            #expect(found == places[number], "seed \(seed)")
        }
        for (number, place) in places {
            #expect(table.index(of: number) { $0 == place } == place, "seed \(seed)")
        }
    }

    private static func table(_ places: [UInt64: Int]) -> NumberTable {
        let largest = places.values.max() ?? 0
        var table = NumberTable(room: places.count, places: largest + 1)
        for (number, place) in places {
            let isIn = table.insert(number, at: place)
            #expect(isIn)
        }
        return table
    }

    @Test func `packed numbers equal an array, close together or far apart`() {
        let seed = TestSeed.value(or: 10)
        var random = SplitMix64(seed: seed)
        for isFar in [false, true] {
            var all: [UInt64] = []
            var packed = PackedNumbers()
            for next in 0..<600 as Range<UInt64> {
                let at = Int.random(in: 0...all.count, using: &random)
                if all.count > 40, Bool.random(using: &random) {
                    all.remove(at: at % all.count)
                    packed.remove(at: at % (all.count + 1))
                } else {
                    let number = (5 << 32) + next + (isFar && next > 200 ? next << 31 : 0)
                    all.insert(number, at: at)
                    packed.insert(number, at: at)
                }
                if next % 100 == 99 {
                    let upper = packed.split(at: packed.count / 2)
                    packed.append(upper)
                }
                #expect((0..<packed.count).map { packed[$0] } == all, "seed \(seed)")
                for (at, number) in all.enumerated() where at % 7 == 0 {
                    #expect(packed.firstIndex(of: number) == at, "seed \(seed)")
                    #expect(packed.firstIndex(of: number ^ 1 << 40) == nil, "seed \(seed)")
                }
            }
        }
    }

    @Test func `keys in two parts compare like whole keys`() {
        let seed = TestSeed.value(or: 11)
        var random = SplitMix64(seed: seed)
        func key() -> [UInt8] {
            (0..<Int.random(in: 0...20, using: &random)).map { _ in
                UInt8.random(in: 0...1, using: &random)
            }
        }
        for _ in 0..<20_000 {
            let (left, right) = (key(), key())
            let (i, j) = (
                Int.random(in: 0...left.count, using: &random),
                Int.random(in: 0...right.count, using: &random)
            )
            let order = left.withUnsafeBytes { left in
                right.withUnsafeBytes { right in
                    compareKeys(Self.parts(left, i), Self.parts(right, j))
                }
            }
            let expected =
                left == right ? 0 : left.lexicographicallyPrecedes(right) ? -1 : 1
            #expect(order.signum() == expected, "seed \(seed)")
        }
    }

    private static func parts(_ key: UnsafeRawBufferPointer, _ at: Int) -> KeyParts {
        KeyParts(
            head: UnsafeRawBufferPointer(rebasing: key[..<at]),
            tail: UnsafeRawBufferPointer(rebasing: key[at...]))
    }
}
