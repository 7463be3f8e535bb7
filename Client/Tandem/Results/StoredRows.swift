import TandemModel
import TandemResults

/// The rows of a list as the store has them, in the window or not, while a group is decided.
///
/// It holds what the controller does, so that looking at a row counts no references: let it go before the list is changed, which
/// else is copied.
struct StoredRows {
    private let overlay: EditOverlay
    private let held: HeldRows?
    private let list: SectionedList

    init(_ controller: FetchedResultsController) {
        overlay = controller.overlay
        held = controller.held
        list = controller.list
    }

    /// Whether an object is a row.
    func contains(_ number: ObjectNumber) -> Bool {
        if let overlaid = overlay[number] { return overlaid.stored != nil }
        if let held { return held.row(number) != nil }
        return list.isCurrent(number)
    }

    /// The tag of a row's entity; nil when there is none.
    func reference(_ number: ObjectNumber) -> ObjectReference? {
        row(number).map { ObjectReference(tag: $0.entityTag, number: number) }
    }

    /// How a row differs from the one that is there, by its key and section; nil when there is none.
    func difference(of row: ResultRow) -> ChangeReason? {
        if overlay[row.number] == nil, held == nil { return list.currentDifference(of: row) }
        return self.row(row.number).map { RowJudge.difference($0, row) }
    }

    private func row(_ number: ObjectNumber) -> ResultRow? {
        if let overlaid = overlay[number] { return overlaid.stored }
        if let held { return held.row(number) }
        return list.currentRow(number)
    }
}
