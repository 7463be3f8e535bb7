import TestSupport
import Testing

@testable import TandemResults

/// Cases from the test suites and bug reports of other results controllers that concern lists.
struct KnownCaseTests {
    @Test(arguments: KnownCase.all)
    func `law 5: cases from other controllers' suites and bug reports`(_ known: KnownCase) {
        func row(_ number: UInt64, _ row: SmallRow) -> ResultRow {
            ResultRow(number: number, sortKey: [UInt8(row.key)], section: row.section)
        }
        var list = SectionedList(
            sectioned: true, rows: known.rows.enumerated().map { row(UInt64($0), $1) })
        var edits = ListEdits()
        for edit in known.edits {
            switch edit {
            case .delete(let place): edits.removed.append(UInt64(place))
            case .insert(let new): edits.upserted.append(row(99, new))
            case .set(let place, let new) where new != known.rows[place]:
                edits.upserted.append(row(UInt64(place), new))
            case .set: break
            }
        }
        var told: Set<String> = []
        if case .changed(let change) = list.apply(edits) {
            told = change.table.words { $0 == 99 ? "new" : "\($0)" }
        }
        #expect(told == known.expected, "\(known.origin)")
    }
}
