import TestSupport
import Testing

@testable import TandemResults

/// Replays that must be refused, the other forms of a change, and the reverse index.
struct ShapeTests {
    let old = [SectionIDs(name: "a", numbers: [1, 2]), SectionIDs(name: "b", numbers: [3])]

    @Test(arguments: [
        ResultsChange(sections: [.delete(index: 0, name: "b")], objects: []),
        ResultsChange(sections: [.delete(index: 2, name: "c")], objects: []),
        ResultsChange(sections: [.delete(index: 1, name: "b")], objects: []),
        ResultsChange(sections: [.insert(index: 4, name: "c")], objects: []),
        ResultsChange(sections: [.insert(index: -1, name: "c")], objects: []),
        ResultsChange(sections: [], objects: [.delete(number: 2, tag: 0, from: path(0, 0))]),
        ResultsChange(sections: [], objects: [.delete(number: 2, tag: 0, from: path(7, -1))]),
        ResultsChange(sections: [], objects: [.insert(number: 1, tag: 0, to: path(0, 0))]),
        ResultsChange(sections: [], objects: [.insert(number: 9, tag: 0, to: path(0, 3))]),
        ResultsChange(sections: [], objects: [.insert(number: 9, tag: 0, to: path(-1, 0))]),
        ResultsChange(
            sections: [],
            objects: [.update(number: 1, tag: 0, from: path(0, 0), to: path(0, 1))]),
        ResultsChange(
            sections: [],
            objects: [
                .insert(number: 8, tag: 0, to: path(0, 0)),
                .insert(number: 9, tag: 0, to: path(0, 0)),
            ]),
    ])
    func law5ReplayRefusesWhatDoesNotFit(_ change: ResultsChange) {
        #expect(throws: ReplayError.self) { try change.apply(to: old) }
    }

    @Test func `the parts of a change have a fixed order`() {
        let change = ResultsChange(
            sections: [.insert(index: 1, name: "x"), .delete(index: 0, name: "y")],
            objects: [
                .update(number: 1, tag: 0, from: path(0, 0), to: path(0, 0)),
                .move(number: 2, tag: 0, from: path(0, 1), to: path(0, 1)),
                .insert(number: 3, tag: 0, to: path(1, 0)),
                .insert(number: 4, tag: 0, to: path(0, 2)),
                .delete(number: 5, tag: 0, from: path(1, 0)),
            ])
        #expect(change.sections.map(\.rank.0) == [0, 1])
        #expect(change.objects.map(\.number) == [5, 4, 3, 2, 1])
    }

    @Test func `a difference of numbers can be replayed too`() throws {
        var random = SplitMix64(seed: TestSeed.value(or: 3))
        var list = SectionedList(sectioned: false, rows: (1...20).map { row($0, [UInt8($0)]) })
        for _ in 0..<200 {
            let before = list.numbers(in: 0..<list.count)
            let edits = ListEdits(
                removed: [.random(in: 1...20, using: &random)],
                upserted: (0..<3).map { _ in
                    row(.random(in: 1...20, using: &random), [.random(in: 0...9, using: &random)])
                })
            guard case .changed(let change) = list.apply(edits) else { continue }
            let difference = try #require(change.collectionDifference)
            #expect(before.applying(difference) == list.numbers(in: 0..<list.count))
            #expect(difference.insertions.count + change.objects.count > 0)
        }
    }

    @Test func `a change of sections is not a difference of numbers`() {
        let change = ResultsChange(sections: [.insert(index: 0, name: "x")], objects: [])
        #expect(change.collectionDifference == nil)
    }

    @Test func `a refetch in another order moves unchanged rows too`() throws {
        let old = SectionedList(sectioned: false, rows: (1...6).map { row($0, [UInt8($0)]) })
        let new = SectionedList(
            sectioned: false, rows: (1...6).map { row($0, [UInt8($0 == 1 ? 9 : $0)]) })
        let change = try #require(new.change(from: old))
        #expect(change.objects == [.move(number: 1, tag: 1, from: path(0, 0), to: path(0, 5))])
        #expect(new.change(from: new) == nil)
        let sections = SectionedList(
            sectioned: true,
            rows: (1...6).map { row($0, [UInt8(9 - $0 / 3)], "s\($0 / 3)") })
        let rebuilt = try #require(sections.change(from: old, changed: [2: .ownValues]))
        #expect(try rebuilt.apply(to: old.sectionIDs) == sections.sectionIDs)
    }

    @Test func `a snapshot names the rows to reload`() {
        var list = SectionedList(sectioned: false, rows: [row(1, [1]), row(2, [2])])
        let edits = ListEdits(upserted: [row(3, [0]), row(1, [1]), row(2, [0])])
        guard case .changed(let change) = list.apply(edits) else {
            Issue.record("no change")
            return
        }
        let snapshot = list.snapshot(after: change)
        #expect(snapshot.sections == [SectionIDs(name: "", numbers: [2, 3, 1])])
        #expect(Set(snapshot.reloaded) == [1, 2])
    }

    @Test func `the reverse index has every link once`() {
        var random = SplitMix64(seed: TestSeed.value(or: 8))
        var index = ReverseIndex()
        var model: [UInt64: Set<UInt64>] = [:]
        for _ in 0..<5000 {
            let related = UInt64.random(in: 0...3, using: &random)
            let row = UInt64.random(in: 0...24, using: &random)
            if Bool.random(using: &random) {
                let isNew = model[related, default: []].insert(row).inserted
                #expect(index.insert(row: row, for: related) == isNew)
            } else {
                let wasThere = model[related]?.remove(row) != nil
                if model[related]?.isEmpty == true { model[related] = nil }
                #expect(index.remove(row: row, for: related) == wasThere)
            }
            #expect(index.rows(for: related).sorted() == (model[related] ?? []).sorted())
            #expect(
                index.contains(row: row, for: related) == model[related]?.contains(row) ?? false)
            #expect(index.count == model.count)
        }
        #expect(Set(index.removeAll(for: 1)) == model[1] ?? [])
        #expect(index.rows(for: 1).isEmpty)
    }
}
