import TandemModel
import TandemQuery
import TandemResults
import TandemWire

/// The values of other objects that a list's rows showed before their context discarded all loaded
/// data.
///
/// The saves that the context missed are unknown. A row whose own values are unchanged counts as
/// changed if these values differ.
struct LastShownValues {
    private let model: CompiledModel
    /// The values along the refresh key paths, for the rows that were loaded.
    private var values: [ObjectNumber: [UInt8]] = [:]
    /// The rows whose members had been read.
    private var rowsWithReadMembers: Set<ObjectNumber> = []

    init(_ rows: [ResultRow], _ plan: ResultsPlan, _ context: ManagedObjectContext) {
        model = plan.compiled.model
        let reader = ContextReader(context: context)
        for row in rows {
            guard let record = context.graph[row.number] else { continue }
            if !record.members.isEmpty { rowsWithReadMembers.insert(row.number) }
            guard !plan.compiled.refreshKeyPaths.isEmpty, let row = record.row else { continue }
            values[record.reference.number] =
                plan.compiled.refreshValues(record.reference, row, reader)
        }
    }

    /// Returns whether a row may show different values now; true if the values can't be compared.
    func mayDiffer(_ object: ObjectReference, _ values: [UInt8]?, _ plan: ResultsPlan) -> Bool {
        if rowsWithReadMembers.contains(object.number) || plan.compiled.model !== model {
            return true
        }
        if plan.compiled.refreshKeyPaths.isEmpty { return false }
        guard let values, let before = self.values[object.number] else { return true }
        return values != before
    }
}
