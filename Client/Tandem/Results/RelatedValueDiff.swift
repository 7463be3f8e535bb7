import TandemModel
import TandemQuery
import TandemResults

/// Compares the values of other objects that rows show before and after a step.
struct RelatedValueDiff {
    private let plan: ResultsPlan
    private let now: GroupReader

    init(_ plan: ResultsPlan, _ context: ManagedObjectContext, _ group: MergedGroup?) {
        self.plan = plan
        now = GroupReader(context, group?.table ?? .empty)
    }

    /// Returns whether a row shows other values than before, or nil if that is not known.
    func differ(
        _ number: ObjectNumber, _ before: OverlayEntry?, _ after: OverlayEntry?
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
