import TandemModel
import TandemQuery
import TandemResults

/// Edits of objects that rows reach: these rows are placed with them, and show what they say.
extension FetchedResultsController {
    /// The edited objects on which places of others may hang.
    func relatedEdits(_ plan: ResultsPlan) -> Set<ObjectNumber> {
        guard includesPendingChanges, plan.placesByRelated else { return [] }
        let edited = context.lineage.flatMap(\.editedRecords)
        return Set(
            edited.lazy.filter { ResultsPlan.concerns($0, plan.watched) }
                .map(\.reference.number))
    }

    /// Notes which of the objects that were touched others hang on; gives the rows that do.
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

    /// What lies over a row that is not edited itself but hangs on something that is.
    func editsReached(by stored: ResultRow?, _ plan: ResultsPlan) -> OverlaidEdits? {
        guard let stored, !overlay.related.isEmpty, plan.placesByRelated else { return nil }
        let object = ObjectReference(tag: stored.entityTag, number: stored.number)
        return editsReached(object, overlay.related, plan)
    }

    private func editsReached(
        _ object: ObjectReference, _ related: Set<ObjectNumber>, _ plan: ResultsPlan
    ) -> OverlaidEdits? {
        let record = context.record(object)
        guard let row = record.currentRow(modelVersion: plan.compiled.model.version) else {
            return nil
        }
        let reader = ContextReader(context: context, includesEdits: true)
        let reached = plan.compiled.reached(behind: row, reader).reached
        guard reached.contains(where: { related.contains($0.number) }) else { return nil }
        return OverlaidEdits(record, layers: [])
    }

    /// What lies over rows of an answer that are not edited themselves, these rows being held.
    func editsReached(
        by rows: [ResultRow], _ related: Set<ObjectNumber>, _ plan: ResultsPlan
    ) -> [ObjectNumber: OverlaidEdits] {
        guard !related.isEmpty else { return [:] }
        var found: [ObjectNumber: OverlaidEdits] = [:]
        for row in rows {
            let object = ObjectReference(tag: row.entityTag, number: row.number)
            found[row.number] = editsReached(object, related, plan)
        }
        return found
    }
}
