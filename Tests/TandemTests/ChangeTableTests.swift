import TandemModel
import TestSupport
import TestWorlds
import Testing

@testable import Tandem

/// Changes found by number, compared with a dictionary.
@Suite(.ownThread) struct ChangeTableTests {
    @Test func `a change table finds the same as a dictionary`() {
        let seed = Seed.value(0)
        var random = SplitMix(seed)
        for count in 0..<60 {
            var changes: [ObjectNumber: Change] = [:]
            for _ in 0..<count {
                let number = UInt64.random(in: 1...200, using: &random)
                let object = ObjectReference(
                    tag: UInt16.random(in: 1...4, using: &random), number: number)
                changes[number] = Change(.touch, object, changed: PropertyMask([1]))
            }
            var all = changes.values.shuffled(using: &random)
            if count % 2 == 0 {
                all.sort { ($0.object.tag, $0.object.number) < ($1.object.tag, $1.object.number) }
            }
            let table = ChangeTable(all)
            #expect(Set(table.all) == Set(all) && table.all.count == all.count, "seed \(seed)")
            for number in 0...201 as ClosedRange<UInt64> {
                #expect(table[number] == changes[number], "seed \(seed)")
            }
        }
    }
}
