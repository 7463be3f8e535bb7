import FoundationEssentials
import TandemIO
import TestSupport
import Testing

@testable import TandemResults

/// Returns a row with these bytes as key; its tag depends on its number.
func row(_ number: UInt64, _ key: [UInt8], _ section: String = "") -> ResultRow {
    ResultRow(number: number, entityTag: UInt16(number % 7), sortKey: key, section: section)
}

func path(_ section: Int, _ item: Int) -> ResultsIndexPath {
    ResultsIndexPath(section: section, item: item)
}

/// A naive list: sorted rows, split where the section name changes.
struct Reference {
    var rows: [UInt64: ResultRow] = [:]
    var isSectioned = true

    init(_ rows: [ResultRow] = [], sectioned: Bool = true) {
        for row in rows { self.rows[row.number] = row }
        isSectioned = sectioned
    }

    var sections: [SectionIDs] {
        var sections: [SectionIDs] = isSectioned ? [] : [SectionIDs(name: "", numbers: [])]
        let sorted = rows.values.sorted {
            $0.sortKey == $1.sortKey
                ? $0.number < $1.number : $0.sortKey.lexicographicallyPrecedes($1.sortKey)
        }
        for row in sorted {
            if isSectioned && sections.last?.name != row.section {
                sections.append(SectionIDs(name: row.section, numbers: []))
            }
            sections[sections.count - 1].numbers.append(row.number)
        }
        return sections
    }

    var isInOrder: Bool { Set(sections.map(\.name)).count == sections.count }

    func after(_ edits: ListEdits) -> Reference {
        var next = self
        for number in edits.removed { next.rows[number] = nil }
        for row in edits.upserted { next.rows[row.number] = row }
        return next
    }
}

/// Checks that a change replays to the new list, reports exactly the rows that changed, and moves
/// no row without a reason.
///
/// If `minimal` is set, also checks that no fewer sections and rows could move.
func verify(
    _ change: ResultsChange?, from old: Reference, to new: Reference, changed: Set<UInt64>,
    minimal: Bool = false
) throws {
    let (before, after) = (old.sections, new.sections)
    #expect(try (change?.apply(to: before) ?? before) == after)
    let flat = change?.movesAsDeletesAndInserts
    #expect(try (flat?.apply(to: before) ?? before) == after)

    let survivors = Set(old.rows.keys).intersection(new.rows.keys)
    let expected = Set(old.rows.keys).symmetricDifference(new.rows.keys)
        .union(changed.intersection(survivors))
    let reported = change?.objects.map(\.number) ?? []
    #expect(reported.count == expected.count && Set(reported) == expected)

    let loose = survivors.filter { old.rows[$0] != new.rows[$0] }
    for case .move(let number, _, _, _) in change?.objects ?? [] {
        #expect(loose.contains(number), "\(number) moved without a reason")
    }
    let again = ResultsChange.between(
        old: before, new: after, changed: changed,
        pinned: changed.filter { survivors.contains($0) && !loose.contains($0) },
        tag: { UInt16($0 % 7) })
    #expect(again?.sections ?? [] == change?.sections ?? [])
    #expect(again?.objects ?? [] == change?.objects ?? [])
    if minimal { verifyMinimal(change, before, after, loose) }
}

/// Checks by brute force that no smaller set of sections and rows could move.
func verifyMinimal(
    _ change: ResultsChange?, _ before: [SectionIDs], _ after: [SectionIDs], _ loose: Set<UInt64>
) {
    var gone: Set<String> = []
    for case .delete(_, let name) in change?.sections ?? [] { gone.insert(name) }
    let moved = Set(
        (change?.objects ?? []).compactMap { object -> UInt64? in
            if case .move(let number, _, _, _) = object { number } else { nil }
        })
    let names = before.map(\.name).filter { name in after.contains { $0.name == name } }
    let firm = Set(
        before.filter { section in section.numbers.contains { isHome($0, section, loose, after) } }
            .map(\.name))
    let best = longestCommon(names, after.map(\.name), keeping: firm)
    #expect(names.filter { !gone.contains($0) }.count == best)
    for section in before where names.contains(section.name) && !gone.contains(section.name) {
        guard let target = after.first(where: { $0.name == section.name }) else { continue }
        let common = section.numbers.filter { target.numbers.contains($0) }
        let staying = common.filter { !moved.contains($0) }.count
        let best = longestCommon(common, target.numbers, keeping: Set(common).subtracting(loose))
        #expect(staying == best)
    }
}

private func isHome(
    _ number: UInt64, _ section: SectionIDs, _ loose: Set<UInt64>, _ after: [SectionIDs]
) -> Bool {
    !loose.contains(number)
        && after.contains { $0.name == section.name && $0.numbers.contains(number) }
}

/// Returns the size of the largest subsequence of `old` that contains all of `keeping` and is in
/// order in `new`.
private func longestCommon<Item: Hashable>(
    _ old: [Item], _ new: [Item], keeping: Set<Item>
) -> Int {
    var best = 0
    for bits in 0..<(1 << old.count) {
        let part = old.indices.filter { bits & (1 << $0) != 0 }.map { old[$0] }
        guard part.count > best, keeping.isSubset(of: part) else { continue }
        if new.filter(part.contains) == part { best = part.count }
    }
    return best
}
