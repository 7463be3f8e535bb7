import TestSupport
import Testing

@testable import TandemResults

/// Long random histories of larger lists, compared with a naive list.
struct RandomTests {
    /// A list with moving sections, and the reference list.
    struct World {
        var random: SplitMix64
        var rank: [String: UInt8] = [:]
        var reference = Reference()
        var next: UInt64 = 1

        init(seed: UInt64) {
            random = SplitMix64(seed: seed)
        }

        mutating func key(_ section: String) -> [UInt8] {
            let rank = self.rank[section] ?? 0
            let tail = (0..<Int.random(in: 0...12, using: &random)).map { _ in
                UInt8.random(in: 0...2, using: &random)
            }
            return [rank] + Array(section.utf8) + [0] + tail
        }

        mutating func fresh(_ sections: Int) -> ResultRow {
            let section = "s\(Int.random(in: 0..<sections, using: &random))"
            next += 1
            return row(next, key(section), section)
        }

        mutating func edits(_ sections: Int) -> ListEdits {
            var edits = ListEdits()
            let numbers = reference.rows.keys.sorted()
            for _ in 0..<Int.random(in: 1...12, using: &random) {
                guard let number = numbers.randomElement(using: &random),
                    let old = reference.rows[number]
                else { continue }
                switch Int.random(in: 0..<5, using: &random) {
                case 0: edits.removed.append(number)
                case 1 where Bool.random(using: &random): edits.upserted.append(old)
                case 1: edits.unmoved += [number, number + 100_000]
                case 2: edits.upserted.append(fresh(sections))
                case 3: edits.upserted.append(row(number, key(old.section), old.section))
                default:
                    let other = fresh(sections)
                    edits.upserted.append(row(number, other.sortKey, other.section))
                }
            }
            if Int.random(in: 0..<4, using: &random) == 0 { moveSection(sections, &edits) }
            // A row that is upserted twice keeps its last state.
            var last: [UInt64: ResultRow] = [:]
            for row in edits.upserted { last[row.number] = row }
            edits.upserted.removeAll { last[$0.number] != $0 }
            edits.removed.removeAll { last[$0] != nil }
            return edits
        }

        mutating func moveSection(_ sections: Int, _ edits: inout ListEdits) {
            let name = "s\(Int.random(in: 0..<sections, using: &random))"
            rank[name] = UInt8.random(in: 0...3, using: &random)
            edits.upserted = edits.upserted.map { old in
                old.section == name ? row(old.number, key(name), name) : old
            }
            let written = Set(edits.upserted.map(\.number))
            let rest = reference.rows.values.filter { $0.section == name }
            for old in rest.sorted(by: { $0.number < $1.number })
            where !written.contains(old.number) {
                edits.upserted.append(row(old.number, key(name), name))
            }
        }
    }

    @Test(arguments: [(7, 30), (30, 400), (400, 600)])
    func `law 5: holds over long histories`(_ sections: Int, _ rows: Int) throws {
        let seed = TestSeed.value(or: UInt64(sections))
        var world = World(seed: seed)
        world.reference = Reference((0..<rows).map { _ in world.fresh(sections) })
        var list = SectionedList(sectioned: true, rows: Array(world.reference.rows.values))
        for round in 0..<Volume.of(20, deep: 120) {
            let edits = world.edits(sections)
            let new = world.reference.after(edits)
            guard case .changed(let change) = list.apply(edits) else {
                Issue.record("no change in round \(round), seed \(seed)")
                return
            }
            let changed = Set(edits.upserted.map(\.number) + edits.unmoved)
            try verify(change, from: world.reference, to: new, changed: changed)
            #expect(list.sectionIDs == new.sections, "round \(round), seed \(seed)")
            if round % 10 == 0 { check(list, new) }
            world.reference = new
        }
    }

    @Test func `leaves split and merge in large lists`() {
        let seed = TestSeed.value(or: 99)
        var random = SplitMix64(seed: seed)
        var list = SectionedList(sectioned: false)
        var reference = Reference(sectioned: false)
        for round in 0..<60 {
            let grows = round < 30
            let numbers = reference.rows.keys.sorted()
            let added = (0..<(grows ? 150 : 20)).map { at in
                let random = UInt64.random(in: 0...UInt64.max, using: &random)
                let ascending = UInt64(round * 1000 + at)
                let key = withUnsafeBytes(of: (at % 2 == 0 ? random : ascending).bigEndian) {
                    Array($0)
                }
                return row(UInt64(round * 1000 + at), key)
            }
            let removed = numbers.shuffled(using: &random).prefix(grows ? 30 : 160)
            let edits = ListEdits(removed: Array(removed), upserted: added)
            _ = list.apply(edits)
            reference = reference.after(edits)
            #expect(list.sectionIDs == reference.sections, "round \(round), seed \(seed)")
            if round % 10 == 9 { check(list, reference) }
        }
        for number in reference.rows.keys { _ = list.apply(ListEdits(removed: [number])) }
        #expect(list.isEmpty && list.sections.count == 1)
        #expect(list.rows.leaves.free.count == list.rows.leaves.slots.count)
    }

    @Test func `law 5: holds through failures and recoveries`() throws {
        let seed = TestSeed.value(or: 5)
        var random = SplitMix64(seed: seed)
        var good = Reference()
        var current = Reference()
        var changed: Set<UInt64> = []
        var list = SectionedList(sectioned: true)
        var failures = 0
        for _ in 0..<1500 {
            let number = UInt64.random(in: 1...12, using: &random)
            let key = UInt8.random(in: 0...11, using: &random)
            let strays = Int.random(in: 0..<12, using: &random) == 0
            let name = strays ? "stray" : "s\(key / 4)"
            var edits =
                Bool.random(using: &random)
                ? ListEdits(removed: [number]) : ListEdits(upserted: [row(number, [key], name)])
            if key % 3 == 0 { edits.unmoved = [UInt64(key + 1), number] }
            changed.formUnion(edits.upserted.map(\.number) + edits.unmoved)
            current = current.after(edits)
            let outcome = list.apply(edits)
            if current.isInOrder {
                var change: ResultsChange?
                if case .changed(let value) = outcome { change = value }
                try verify(change, from: good, to: current, changed: changed)
                (good, changed) = (current, [])
            } else {
                failures += 1
            }
            #expect((list.outOfOrder == nil) == current.isInOrder, "seed \(seed)")
            #expect(list.sectionIDs == good.sections, "seed \(seed)")
        }
        #expect(failures > 20, "seed \(seed) never got out of order")
    }

    @Test func `merged changes have the net effect`() throws {
        let seed = TestSeed.value(or: 17)
        var world = World(seed: seed)
        world.reference = Reference((0..<60).map { _ in world.fresh(6) })
        var list = SectionedList(sectioned: true, rows: Array(world.reference.rows.values))
        for _ in 0..<60 {
            let old = world.reference.sections
            var parts: [ResultsChange] = []
            for _ in 0..<2 {
                let edits = world.edits(6)
                if case .changed(let change) = list.apply(edits) { parts.append(change) }
                world.reference = world.reference.after(edits)
            }
            let net = try parts[0].merging(parts[1], from: old)
            #expect(try net?.apply(to: old) == list.sectionIDs, "seed \(seed)")
            let numbers = net?.objects.map(\.number) ?? []
            #expect(Set(numbers).count == numbers.count)
            let touched = Set(parts.flatMap { $0.objects.map(\.number) })
            #expect(touched.isSuperset(of: numbers))
        }
    }

    /// Compares every way of reading a list with the reference.
    func check(_ list: SectionedList, _ reference: Reference) {
        let sections = reference.sections
        #expect(list.count == reference.rows.count)
        #expect(list.sections.map(\.name) == sections.map(\.name))
        var offset = 0
        for (index, section) in sections.enumerated() {
            let expected = ResultsSection(
                name: section.name, offset: offset, count: section.numbers.count)
            #expect(list.sections[index] == expected)
            #expect(list.sectionIndex(named: section.name) == index)
            #expect(list.numbers(in: expected.range) == section.numbers)
            for (item, number) in section.numbers.enumerated() {
                let path = ResultsIndexPath(section: index, item: item)
                #expect(list.indexPath(of: number) == path)
                #expect(list.row(at: path) == reference.rows[number])
                #expect(list.offset(of: number) == offset + item)
                #expect(list.path(atOffset: offset + item) == path)
            }
            offset = expected.range.upperBound
        }
        let all = sections.flatMap(\.numbers)
        for start in [0, all.count / 3, max(0, all.count - 1), all.count + 1] {
            for count in [0, 1, all.count / 2, all.count + 2] {
                let part = list.references(in: start..<start + count)
                let expected = all.dropFirst(start).prefix(count)
                #expect(part.map(\.number) == Array(expected))
                #expect(part.allSatisfy { $0.tag == reference.rows[$0.number]?.entityTag })
            }
        }
        let leaves = list.rows.leaves.slots.reduce(0) { $0 + $1.count }
        #expect(leaves == reference.rows.count)
    }
}
