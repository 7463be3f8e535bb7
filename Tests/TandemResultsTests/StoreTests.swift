import TestSupport
import Testing

@testable import TandemResults

/// The store's invariants, and its independence from the order of edits.
struct StoreTests {
    /// Checks the documented invariants of a store.
    func checkInvariants(_ rows: RowStore) {
        var seen = 0
        for ref in rows.sections.order {
            let section = rows.sections.slots[Int(ref.slot)]
            #expect(Int(ref.count) == section.count)
            #expect(rows.sections.named[section.name] == Int(ref.slot))
            var last: ResultRow?
            for (leafIndex, leafRef) in section.leaves.enumerated() {
                let leaf = rows.leaves.slots[Int(leafRef.leaf)]
                #expect(leaf.section == ref.slot && Int(leafRef.count) == leaf.count)
                #expect(leaf.count > 0 && leaf.count <= Leaf.capacity)
                for at in 0..<leaf.count {
                    let place = RowStore.LeafLocation(
                        slot: Int(ref.slot), leafIndex: leafIndex, leaf: Int(leafRef.leaf), at: at)
                    let row = rows.row(at: place)
                    #expect(last.map { $0.precedes(row) } ?? true)
                    #expect(rows.spot(of: row.number) ?? (-1, 0) == (Int(leafRef.leaf), at))
                    last = row
                    seen += 1
                }
            }
        }
        #expect(seen == rows.count && rows.sections.emptied.isEmpty)
        let slots = rows.sections.order.map { Int($0.slot) }
        for (slot, next) in zip(slots, slots.dropFirst()) {
            #expect(rows.firstRow(of: slot, precedesFirstRowOf: next))
        }
        #expect(rows.sections.named.count == rows.sections.order.count)
    }

    @Test(arguments: [(3, 200), (40, 300)])
    func `law 4: a list edited step by step equals one built at the end`(
        _ sections: Int, _ rows: Int
    ) {
        let seed = TestSeed.value(or: 41)
        var world = RandomTests.World(seed: seed)
        world.reference = Reference((0..<rows).map { _ in world.fresh(sections) })
        let first = Array(world.reference.rows.values)
        var list = SectionedList(sectioned: true, rows: first)
        checkInvariants(list.rows)
        for round in 0..<150 {
            let edits = world.edits(sections)
            _ = list.apply(edits)
            world.reference = world.reference.after(edits)
            if round % 10 == 0 { checkInvariants(list.rows) }
        }
        let all = Array(world.reference.rows.values)
        let fresh = SectionedList(sectioned: true, rows: all)
        #expect(list.sectionIDs == fresh.sectionIDs, "seed \(seed)")
        #expect(Array(list.sections) == Array(fresh.sections), "seed \(seed)")
        for row in all { #expect(list.row(row.number) == row) }
        #expect(list.change(from: fresh) == nil)
    }

    @Test func `law 4: holds if sections are deleted and inserted again under other names`() {
        var list = SectionedList(sectioned: true)
        for round in 0..<200 {
            let number = UInt64(round % 20)
            let name = "n\(round % 7)"
            _ = list.apply(
                ListEdits(upserted: [row(number, [UInt8(round % 7), UInt8(round)], name)]))
            checkInvariants(list.rows)
        }
        #expect(list.sections.count == 7 && list.rows.sections.slots.count <= 8)
    }

    @Test func `leaves with long keys are split by bytes`() {
        var list = SectionedList(sectioned: false)
        var reference = Reference(sectioned: false)
        var random = SplitMix64(seed: TestSeed.value(or: 4))
        for number in 0..<150 {
            let stem = [UInt8](repeating: 7, count: Int.random(in: 0...4000, using: &random))
            let tail = UInt8.random(in: 0...255, using: &random)
            let edits = ListEdits(upserted: [row(UInt64(number), stem + [tail])])
            _ = list.apply(edits)
            reference = reference.after(edits)
        }
        #expect(list.sectionIDs == reference.sections)
        checkInvariants(list.rows)
        #expect(list.rows.sections.slots[0].leaves.count > 5)
        for number in 0..<140 { _ = list.apply(ListEdits(removed: [UInt64(number)])) }
        checkInvariants(list.rows)
        #expect(list.count == 10)
    }

    @Test func `a copy is unchanged when the original is edited`() {
        var list = SectionedList(sectioned: true, rows: [row(1, [1], "a"), row(2, [2], "b")])
        let copy = list
        _ = list.apply(ListEdits(removed: [1], upserted: [row(3, [3], "c")]))
        #expect(copy.sections.map(\.name) == ["a", "b"])
        #expect(list.sections.map(\.name) == ["b", "c"])
    }
}
