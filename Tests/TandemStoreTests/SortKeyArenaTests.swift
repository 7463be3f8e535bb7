import TandemModel
import TestSupport
import Testing

@testable import TandemStore

@Suite(.ownThread) struct SortKeyArenaTests {
    @Test func `entries are sorted by their keys' bytes, then by their objects`() {
        var random = SplitMix64(seed: seed)
        for _ in 0..<50 {
            let arena = SortKeyArena()
            let most = [0, 3, 9, 17, 40].randomElement(using: &random) ?? 0
            var keys: [ObjectNumber: [UInt8]] = [:]
            var entries: [SortKeyArena.SortEntry] = []
            let other = arena.add(ObjectReference(tag: 1, number: 99), [7])
            for number in 1...ObjectNumber(60) {
                // Few different bytes, including zeros, so that many keys have a common prefix or
                // are equal.
                let key = (0..<Int.random(in: 0...most, using: &random)).map { place in
                    place < most / 2 ? UInt8(0) : UInt8.random(in: 0...2, using: &random)
                }
                keys[number] = key
                entries.append(arena.add(ObjectReference(tag: 1, number: number), key))
            }
            entries.shuffle(using: &random)
            let expected = keys.sorted { a, b in
                a.value == b.value ? a.key < b.key : a.value.lexicographicallyPrecedes(b.value)
            }
            for entry in entries {
                #expect(Array(arena.bytes(of: entry)) == keys[entry.object.number])
            }
            #expect(!arena.precedes(other, other))
            #expect(
                entries.sorted(by: arena.precedes).map(\.object.number) == expected.map(\.key),
                "seed \(seed)")
            #expect(arena.byteCount == keys.values.reduce(1) { $0 + $1.count })
        }
    }
}
