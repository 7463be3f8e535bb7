import TestSupport
import Testing

@testable import TandemResults

/// All small lists and all edits of them.
struct ExhaustiveTests {
    /// Returns the states a row can be in: absent, or in one of some sections with one of some
    /// keys.
    static func states(_ sections: Int, _ keys: Int) -> [(UInt8, String)?] {
        let names = ["b", "a", "c"]
        return [nil] + (0..<sections * keys).map { (UInt8($0 / sections), names[$0 % sections]) }
    }

    /// Returns the list in which row n has the n-th digit of `code` as its state.
    static func reference(_ code: Int, rows: Int, _ states: [(UInt8, String)?]) -> Reference {
        var rest = code
        var found: [ResultRow] = []
        for number in 1...rows {
            if let (key, section) = states[rest % states.count] {
                found.append(row(UInt64(number), [key], section))
            }
            rest /= states.count
        }
        return Reference(found)
    }

    /// Applies the edits from one list to another; unchanged rows in `touched` count as changed.
    func step(_ old: Reference, _ new: Reference, touched: Set<UInt64>) throws {
        var list = SectionedList(sectioned: true, rows: Array(old.rows.values))
        let changed = new.rows.filter { old.rows[$0] != $1 || touched.contains($0) }
        let edits = ListEdits(
            removed: old.rows.keys.filter { new.rows[$0] == nil },
            upserted: changed.values.sorted { $0.number > $1.number })
        switch list.apply(edits) {
        case .unchanged:
            #expect(edits.removed.isEmpty && edits.upserted.isEmpty)
        case .changed(let change):
            #expect(new.isInOrder)
            #expect(list.sectionIDs == new.sections)
            try verify(change, from: old, to: new, changed: Set(changed.keys), minimal: true)
        case .failed:
            #expect(!new.isInOrder && list.outOfOrder != nil)
            #expect(list.sectionIDs == old.sections)
            try recover(&list, old, new, changed: Set(changed.keys))
        }
    }

    /// Removes all rows but row 1 from an out-of-order list, which gives one change from the last
    /// ordered list.
    func recover(
        _ list: inout SectionedList, _ old: Reference, _ new: Reference, changed: Set<UInt64>
    ) throws {
        let edits = ListEdits(removed: new.rows.keys.filter { $0 != 1 })
        let outcome = list.apply(edits)
        #expect(list.outOfOrder == nil)
        var change: ResultsChange?
        if case .changed(let value) = outcome { change = value }
        try verify(change, from: old, to: new.after(edits), changed: changed)
    }

    @Test func `law 5: holds for every edit of every list of three rows`() throws {
        let states = Self.states(2, 3)
        let all = (0..<343).map { Self.reference($0, rows: 3, states) }
        // An ordinary run tests a part of the lists; which part depends on the seed.
        let (every, first) = (Volume.of(24, deep: 1), Int(seed % 24))
        for (at, old) in all.enumerated() where old.isInOrder && (at + first) % every == 0 {
            for (to, new) in all.enumerated() {
                try step(old, new, touched: (at + to) % 3 == 0 ? [1, 3] : [])
            }
        }
    }

    @Test func `law 5: holds for every edit of two rows in lists of four rows and three sections`()
        throws
    {
        let states = Self.states(3, 2)
        for code in stride(from: Int(seed % 5), to: 2401, by: Volume.of(20, deep: 1)) {
            let old = Self.reference(code, rows: 4, states)
            guard old.isInOrder else { continue }
            for pick in 0..<4 {
                let (one, two) = [(1, 7), (7, 49), (49, 343), (343, 1)][pick]
                let base = code - (code / one % 7) * one - (code / two % 7) * two
                for target in stride(from: code % 5, to: 49, by: 5) {
                    let next = base + (target % 7) * one + (target / 7) * two
                    let new = Self.reference(next, rows: 4, states)
                    try step(old, new, touched: [UInt64(pick + 1)])
                }
            }
        }
    }

    @Test func `the longest increasing subsequence is the longest one`() {
        var generator = SplitMix64(seed: TestSeed.value(or: 1))
        for _ in 0..<200 {
            let values = Array(0..<8).shuffled(using: &generator)
            let kept = zip(values, longestIncreasing(values)).filter(\.1).map(\.0)
            #expect(kept == kept.sorted())
            var best = 0
            for bits in 0..<256 {
                let part = values.indices.filter { bits & (1 << $0) != 0 }.map { values[$0] }
                if part == part.sorted() { best = max(best, part.count) }
            }
            #expect(kept.count == best)
        }
    }
}
