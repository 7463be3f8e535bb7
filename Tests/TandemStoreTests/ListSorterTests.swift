import TandemModel
import TandemQuery
import TestSupport
import Testing

@testable import TandemStore

/// Sorting the groups of a list, with few and many objects, short and long keys.
@Suite(.ownThread) struct ListSorterTests {
    @Test(arguments: [2, 100, 4_096, 5_000], [false, true])
    func `a group in ascending or descending order is sorted`(
        count: Int, isReversed: Bool
    ) throws {
        let arena = SortKeyArena()
        var segments = [ListSegment(group: 0, section: 1, link: 1, start: 0)]
        for at in 0..<count {
            let value = UInt64(isReversed ? count - at : at)
            if at == count / 2 {
                segments.append(
                    ListSegment(group: 0, section: 2, link: 2, start: arena.records.bytes))
            }
            // Half of the deciding bytes follow the first 16.
            let rest = [UInt8](repeating: 7, count: 14) + StoreKey.number(value << 44)
            arena.add(3, value, rest)
            segments[segments.count - 1].count += 1
        }
        var (places, sorter) = (
            ListPlacements(sections: ["", "a", "b"], hopCount: 1), ListSorter(arena)
        )
        let isDone = try sorter.append(segments[...], [9], to: &places) {}
        #expect(isDone)
        #expect(places.numbers == (0..<count).map { UInt64(isReversed ? $0 + 1 : $0) })
        #expect(
            (0..<count).allSatisfy {
                Array(places.key($0).suffix(8)) == StoreKey.number(places.numbers[$0] << 44)
            })
        let isSecond = (0..<count).map { isReversed ? $0 < count - count / 2 : $0 >= count / 2 }
        #expect((0..<count).allSatisfy { places.sectionIndex($0) == (isSecond[$0] ? 2 : 1) })
    }

    @Test(arguments: [100, 4_097, 9_000], [1, 5_000, 40_000])
    func `a group sorted in pieces equals the group sorted at once`(count: Int, bytes: Int) throws {
        let arena = SortKeyArena()
        var segments = [ListSegment(group: 0, section: 0, link: 0, start: 0)]
        for number in 1...UInt64(count) {
            // In random order.
            arena.add(3, number, StoreKey.number(number * 7_919 % 10_007))
            segments[0].count += 1
        }
        func sorted(upTo bytes: Int) throws -> (places: ListPlacements, pieces: Int) {
            var (all, places) = (ListPlacements(sections: ["a"]), ListPlacements())
            var (sorter, pieces) = (ListSorter(arena), 0)
            var isDone = false
            while !isDone {
                isDone = try sorter.append(segments[...], [9], to: &places, upTo: bytes) {}
                let belongs = all.append(places)
                #expect(belongs && (isDone || places.bytes >= bytes))
                #expect(places.bytes - 64 * 21 < bytes)
                places = ListPlacements()
                pieces += 1
            }
            return (all, pieces)
        }
        let (whole, pieces) = (try sorted(upTo: .max), try sorted(upTo: bytes))
        #expect(pieces.places == whole.places && whole.places.count == count)
        #expect(whole.pieces == 1 && pieces.pieces >= count * 21 / (bytes + 64 * 21))
    }

    @Test(arguments: [1, 7, 4_096, 4_097, 9_000])
    func `a group is sorted by its keys`(count: Int) throws {
        var random = SplitMix64(seed: seed &+ UInt64(count))
        let arena = SortKeyArena()
        var expected: [(rest: [UInt8], number: UInt64, segment: UInt32)] = []
        var segments: [ListSegment] = []
        for number in 1...UInt64(count) {
            if segments.isEmpty || Int.random(in: 0..<500, using: &random) == 0 {
                let next = UInt32(segments.count)
                segments.append(
                    ListSegment(group: 0, section: next, link: next + 1, start: arena.records.bytes)
                )
            }
            // Many keys have the first 16 bytes in common, and some are equal.
            let start = [UInt8](repeating: 1, count: .random(in: 0...20, using: &random))
            let rest = start + (0..<2).map { _ in UInt8.random(in: 0...4, using: &random) }
            arena.add(3, number, rest)
            segments[segments.count - 1].count += 1
            expected.append((rest, number, UInt32(segments.count - 1)))
        }
        expected.sort {
            $0.rest == $1.rest
                ? $0.number < $1.number : $0.rest.lexicographicallyPrecedes($1.rest)
        }
        var places = ListPlacements(sections: segments.map { "\($0.section)" }, hopCount: 1)
        var sorter = ListSorter(arena)
        let isDone = try sorter.append(segments[...], [9, 9], to: &places) {}
        #expect(isDone)
        #expect(places.numbers == expected.map(\.number), "seed \(seed)")
        #expect((0..<count).allSatisfy { Array(places.key($0)) == [9, 9] + expected[$0].rest })
        #expect((0..<count).allSatisfy { places.sectionIndex($0) == expected[$0].segment })
        #expect((0..<count).allSatisfy { places.links($0) == [expected[$0].segment + 1] })
        #expect((0..<count).allSatisfy { places.object($0).tag == 3 })
    }

    @Test(arguments: [1, 2_000])
    func `law 7: a check ends a sort of one large group, and of many small ones`(groups: Int) throws
    {
        var random = SplitMix64(seed: seed)
        let arena = SortKeyArena()
        var segments: [ListSegment] = []
        for group in 0..<groups {
            segments.append(
                ListSegment(group: UInt32(group), section: 0, link: 0, start: arena.records.bytes))
            for number in 0..<40_000 / groups {
                arena.add(
                    3, UInt64(group * 40_000 + number + 1), StoreKey.number(random.next()))
            }
            segments[group].count = 40_000 / groups
        }
        var (places, sorter) = (ListPlacements(sections: ["a"]), ListSorter(arena))
        var (checks, sorted) = (0, 0)
        let error = #expect(throws: StoreError.self) {
            for group in segments.indices {
                _ = try sorter.append(segments[group...group], [9], to: &places) {
                    () throws(StoreError) in
                    checks += 1
                    throw StoreError(.interrupted, "enough")
                }
                sorted += 1
            }
        }
        #expect(error?.code == .interrupted && checks == 1 && sorted < groups)
    }
}

extension SortKeyArena {
    fileprivate func add(_ tag: EntityTag, _ number: ObjectNumber, _ rest: [UInt8]) {
        _ = rest.withUnsafeBytes { add(ObjectReference(tag: tag, number: number), $0, group: 0) }
    }
}
