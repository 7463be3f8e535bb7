import TandemModel
import TandemResults

/// The rows of a list as stored, in the window or not, while the effect of a group is decided.
///
/// It holds copies of the controller's state, so that reading a row costs no reference counting.
/// Release it before the list is changed; otherwise the change copies the list.
struct StoredRows {
    private let overlay: EditOverlay
    private let windowRows: WindowRows?
    private let list: SectionedList

    init(_ controller: FetchedResultsController) {
        overlay = controller.overlay
        windowRows = controller.windowRows
        list = controller.list
    }

    /// Whether an object is a row.
    func contains(_ number: ObjectNumber) -> Bool {
        if let overlaid = overlay[number] { return overlaid.stored != nil }
        if let windowRows { return windowRows.row(number) != nil }
        return list.isCurrent(number)
    }

    /// Returns the reference of a row, or nil if there is no such row.
    func reference(_ number: ObjectNumber) -> ObjectReference? {
        row(number).map { ObjectReference(tag: $0.entityTag, number: number) }
    }

    /// Returns the difference to the stored row's key and section, or nil if there is no stored
    /// row.
    func difference(of row: ResultRow) -> ChangeReason? {
        if overlay[row.number] == nil, windowRows == nil { return list.currentDifference(of: row) }
        return self.row(row.number).map { RowChangeCollector.difference($0, row) }
    }

    private func row(_ number: ObjectNumber) -> ResultRow? {
        if let overlaid = overlay[number] { return overlaid.stored }
        if let windowRows { return windowRows.row(number) }
        return list.currentRow(number)
    }
}
