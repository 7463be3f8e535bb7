import TandemModel
import TandemQuery
import TandemResults

/// Edits of related objects: the rows that refer to them are placed by the edited values, and show
/// them.
extension FetchedResultsController {
    /// Returns the edited objects on which the placement of other rows may depend.
    func relatedEdits(_ plan: ResultsPlan) -> Set<ObjectNumber> {
        guard includesPendingChanges, plan.placesByRelated else { return [] }
        let edited = context.lineage.flatMap(\.editedRecords)
        return Set(
            edited.lazy.filter { ResultsPlan.concerns($0, plan.watched) }
                .map(\.reference.number))
    }

    /// Updates the set of edited objects on which other rows may depend, and returns the rows that
    /// refer to a touched one.
    func noteRelated(
        _ plan: ResultsPlan, _ lineage: [ManagedObjectContext]
    ) -> Set<ObjectNumber> {
        guard plan.placesByRelated else { return [] }
        if overlay.isStaleWhole {
            overlay.noteRelated(relatedEdits(plan), gone: overlay.related)
        } else {
            let touched = overlay.touched.filter { plan.watched[$0.tag] != nil }
            if touched.isEmpty { return [] }
            let edited = touched.filter { object in
                includesPendingChanges
                    && lineage.contains { level in
                        level.records[object.number].map {
                            ResultsPlan.concerns($0, plan.watched)
                        } ?? false
                    }
            }
            overlay.noteRelated(
                Set(edited.map(\.number)), gone: Set(touched.map(\.number)))
        }
        causes.note(
            overlay.touched.compactMap { object in
                plan.watched[object.tag].map { Change(.update, object, changed: $0) }
            }, plan)
        let touched = overlay.isStaleWhole ? overlay.related : Set(overlay.touched.map(\.number))
        return overlay.related.intersection(touched).reduce(into: []) { rows, object in
            rows.formUnion(links?.rows(reaching: object) ?? [])
        }
    }

    /// Returns an overlay entry for a row that is not edited itself, but refers to an edited
    /// object; nil for any other row.
    func editsReached(by stored: ResultRow?, _ plan: ResultsPlan) -> OverlayEntry? {
        guard let stored, !overlay.related.isEmpty, plan.placesByRelated else { return nil }
        let object = ObjectReference(tag: stored.entityTag, number: stored.number)
        return editsReached(object, overlay.related, plan)
    }

    private func editsReached(
        _ object: ObjectReference, _ related: Set<ObjectNumber>, _ plan: ResultsPlan
    ) -> OverlayEntry? {
        let record = context.record(object)
        guard let row = record.currentRow(modelVersion: plan.compiled.model.version) else {
            return nil
        }
        let reader = ContextReader(context: context, includesEdits: true)
        let reached = plan.compiled.reached(behind: row, reader).reached
        guard reached.contains(where: { related.contains($0.number) }) else { return nil }
        return OverlayEntry(record, layers: [])
    }

    /// Returns overlay entries for the rows of an answer that refer to edited objects; the context
    /// must hold these rows.
    func editsReached(
        by rows: [ResultRow], _ related: Set<ObjectNumber>, _ plan: ResultsPlan
    ) -> [ObjectNumber: OverlayEntry] {
        guard !related.isEmpty else { return [:] }
        var found: [ObjectNumber: OverlayEntry] = [:]
        for row in rows {
            let object = ObjectReference(tag: row.entityTag, number: row.number)
            found[row.number] = editsReached(object, related, plan)
        }
        return found
    }
}
