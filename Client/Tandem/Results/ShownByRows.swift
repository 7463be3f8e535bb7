import TandemModel
import TandemQuery
import TandemResults

/// What rows show of other objects before and after a step.
struct ShownByRows {
    private let plan: ResultsPlan
    private let now: GroupReader

    init(_ plan: ResultsPlan, _ context: ManagedObjectContext, _ group: MergedGroup?) {
        self.plan = plan
        now = GroupReader(context, group?.table ?? .empty)
    }

    /// Whether a row shows other values than before; nil where that isn't known.
    func differ(
        _ number: ObjectNumber, _ before: OverlaidEdits?, _ after: OverlaidEdits?
    ) -> Bool? {
        guard let object = (after ?? before)?.record.reference else { return nil }
        let earlier = EarlierReader(now: now, model: plan.compiled.model)
        guard let shown = before.map(\.shows) ?? stored(object, earlier),
            let shows = after.map(\.shows) ?? stored(object, now)
        else { return nil }
        return shown != shows
    }

    private func stored(_ object: ObjectReference, _ reader: some GraphReader) -> [UInt8]? {
        guard case .row(let row) = reader.row(of: object) else { return nil }
        return plan.compiled.refreshValues(object, row, reader)
    }
}
