import TandemModel
import TandemQuery
import TandemResults
import TandemWire

/// What the rows of a list showed of other objects when their context forgot all it held.
///
/// Nobody can tell any more what was saved meanwhile; a row whose own values are as they were is compared by this.
struct ShownValues {
    private let model: CompiledModel
    /// The values along key paths, of rows of which they were held.
    private var values: [ObjectNumber: [UInt8]] = [:]
    /// The rows whose members somebody had looked at.
    private var looked: Set<ObjectNumber> = []

    init(_ rows: [ResultRow], _ plan: ResultsPlan, _ context: ManagedObjectContext) {
        model = plan.compiled.model
        let reader = ContextReader(context: context)
        for row in rows {
            guard let record = context.records[row.number] else { continue }
            if !record.members.isEmpty { looked.insert(row.number) }
            guard !plan.compiled.refreshKeyPaths.isEmpty, let row = record.row else { continue }
            values[record.reference.number] =
                plan.compiled.refreshValues(record.reference, row, reader)
        }
    }

    /// Whether a row may show other values now; what can't be compared may.
    func mayDiffer(_ object: ObjectReference, _ values: [UInt8]?, _ plan: ResultsPlan) -> Bool {
        if looked.contains(object.number) || plan.compiled.model !== model { return true }
        if plan.compiled.refreshKeyPaths.isEmpty { return false }
        guard let values, let before = self.values[object.number] else { return true }
        return values != before
    }
}

extension FetchedResultsController {
    func noteLoss() {
        guard let plan, interruption == nil, source.session?.model === plan.compiled.model else {
            return
        }
        shownBefore = ShownValues(list.allRows, plan, source)
    }

    /// Whether a row whose own values are as they were may show other objects' values, or members, that differ.
    ///
    /// Law 5 wants every change reported once and nothing else. Where history is lost and nothing was kept to compare with, it can't be known
    /// which of both a silence would break: a row that is read anew for nothing shows what is true, one that is not may not.
    func mayShowOthers(_ object: StoredObject, _ judge: RowJudge) -> Bool {
        let (plan, reference) = (judge.plan, object.object)
        guard let shownBefore else {
            let isLooked = source.records[reference.number]?.members.isEmpty == false
            return isLooked || !plan.compiled.refreshKeyPaths.isEmpty
        }
        let values = plan.compiled.refreshValues(reference, object.row, judge.reader)
        return shownBefore.mayDiffer(reference, values, plan)
    }
}
