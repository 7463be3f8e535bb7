import TandemIO
import TandemModel
import TandemQuery
import TestSupport
import Testing

@testable import TandemStore

@Suite(.ownThread) struct SortKeyArenaTests {
    @Test func `entries are sorted by their keys' bytes, then by their objects`() throws {
        var random = SplitMix64(seed: seed)
        for _ in 0..<50 {
            let arena = SortKeyArena()
            let most = [0, 3, 9, 17, 40].randomElement(using: &random) ?? 0
            var keys: [ObjectNumber: [UInt8]] = [:]
            var entries: [SortEntry] = []
            func add(_ number: ObjectNumber, _ key: [UInt8]) -> SortEntry {
                key.withUnsafeBytes {
                    arena.add(ObjectReference(tag: 1, number: number), $0, group: 0)
                }
            }
            let other = add(99, [7])
            for number in 1...ObjectNumber(60) {
                // Few different bytes, including zeros, so that many keys have a common prefix or
                // are equal.
                let key = (0..<Int.random(in: 0...most, using: &random)).map { place in
                    place < most / 2 ? UInt8(0) : UInt8.random(in: 0...2, using: &random)
                }
                keys[number] = key
                entries.append(add(number, key))
            }
            let records = arena.records
            #expect(entries.indices.allSatisfy { entries[$0].ordinal == UInt32($0 + 1) })
            entries.shuffle(using: &random)
            let expected = keys.sorted { a, b in
                a.value == b.value ? a.key < b.key : a.value.lexicographicallyPrecedes(b.value)
            }
            for entry in entries {
                #expect(Array(records.rest(entry.at)) == keys[records.object(entry.at).number])
            }
            #expect(!records.precedes(other, other))
            #expect(
                entries.sorted(by: records.precedes).map { records.object($0.at).number }
                    == expected.map(\.key), "seed \(seed)")
            var sort = CheckedSort()
            try entries.withUnsafeMutableBufferPointer { try records.sort(&$0, &sort) {} }
            #expect(entries.map { records.object($0.at).number } == expected.map(\.key))
            #expect(records.keyBytes == keys.values.reduce(1) { $0 + $1.count })
        }
    }
}
