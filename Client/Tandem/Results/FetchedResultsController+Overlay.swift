import TandemModel
import TandemQuery
import TandemResults

/// Shows the context's unsaved edits in the list: edited objects enter, leave and move as in a
/// fetch.
///
/// `list` and `windowRows` include the edits. `overlay` has the stored rows of the edited objects,
/// and knows which objects must be placed again.
extension FetchedResultsController {
    /// Returns the overlay entries of all edited objects that the plan may list; their stored rows
    /// are not set yet.
    func edits(over plan: ResultsPlan) -> [ObjectNumber: OverlayEntry] {
        let lineage = context.lineage
        var found: [ObjectNumber: OverlayEntry] = [:]
        for level in lineage {
            for record in level.editedRecords where found[record.reference.number] == nil {
                found[record.reference.number] = edits(record.reference.number, plan, lineage)
            }
        }
        return found
    }

    /// Returns the overlay entry of one object, or nil if it has no edits or the plan can't list
    /// it.
    private func edits(
        _ number: ObjectNumber, _ plan: ResultsPlan, _ lineage: [ManagedObjectContext]
    ) -> OverlayEntry? {
        guard includesPendingChanges else { return nil }
        var layers: [ObjectRecord] = []
        for level in lineage.reversed() {
            guard let record = level.records[number], record.hasEdits else { continue }
            layers.append(record)
        }
        guard let reference = layers.last?.reference, plan.compiled.includes(tag: reference.tag)
        else { return nil }
        return OverlayEntry(context.record(reference), layers: layers)
    }

    /// Returns the row of an edited object, or nil if the object does not match.
    ///
    /// An object that can't be evaluated here keeps its stored row. If its own row is not loaded
    /// and it is in the overlay already, it keeps the row that is shown.
    private func place(_ overlaid: inout OverlayEntry, _ plan: ResultsPlan, isLaid: Bool)
        -> ResultRow?
    {
        let record = overlaid.record
        overlay.placements += 1
        if record.isDeleted { return nil }
        let (compiled, object) = (plan.compiled, record.reference)
        guard let row = record.currentRow(modelVersion: compiled.model.version) else {
            source.loadSoon([object])
            overlaid.isPlaced = false
            return isLaid ? shownRow(object.number) : overlaid.stored
        }
        let reader = ContextReader(context: context, includesEdits: true)
        let (reached, unknown) = compiled.reached(behind: row, reader)
        source.loadSoon(unknown)
        overlaid.reached = reached.map(\.number)
        overlaid.isPlaced = unknown.isEmpty
        if plan.placesByRelated {
            overlaid.shows = compiled.refreshValues(object, row, reader)
        }
        let matches = compiled.matches(object, row, reader)
        if matches == nil { overlaid.isPlaced = false }
        guard matches ?? (overlaid.stored != nil) else { return nil }
        guard let key = compiled.sortKey(object, row, reader),
            case .known(let name) = compiled.section(object, row, reader)
        else {
            overlaid.isPlaced = false
            return overlaid.stored
        }
        return ResultRow(
            number: object.number, entityTag: object.tag, sortKey: key, section: name)
    }

    // MARK: Stepping

    /// Applies the context's current edits on top of a group's edits of stored rows.
    ///
    /// Returns the edited objects that were examined, including those whose edits are gone.
    @discardableResult
    func layEdits(
        over edits: inout ListEdits, _ plan: ResultsPlan, _ group: MergedGroup? = nil
    ) -> Set<ObjectNumber> {
        if overlay.isIdle { return [] }
        var candidates = overlay.candidates(group, edits, plan)
        let lineage = context.lineage
        if overlay.isStaleWhole {
            candidates.formUnion(overlay.entries.keys)
            for level in lineage {
                candidates.formUnion(level.editedRecords.lazy.map(\.reference.number))
            }
        }
        candidates.formUnion(noteRelated(plan, lineage))
        overlay.begin()
        var fresh: [ObjectNumber: OverlayEntry] = [:]
        let stored = edits.stored(of: candidates)
        for number in candidates {
            fresh[number] =
                self.edits(number, plan, lineage)
                ?? editsReached(by: stored[number] ?? row(number), plan)
        }
        let concerned = candidates.filter { fresh[$0] != nil || overlay[$0] != nil }
        if concerned.isEmpty { return [] }
        let changes = group?.changes(of: concerned) ?? [:]
        var laid = edits.leavingOut(concerned)
        let shows = plan.placesByRelated ? RelatedValueDiff(plan, source, group) : nil
        for number in concerned.sorted() {
            let below = stored[number] ?? row(number)
            var target = below
            if var edited = fresh[number] {
                edited.stored = below
                target = place(&edited, plan, isLaid: overlay[number] != nil)
                fresh[number] = edited
            }
            guard let target else {
                if shownRow(number) != nil {
                    laid.removed.append(number)
                    noteEdits(number, fresh)
                }
                continue
            }
            // Own links are compared below, together with the edits that showed them before.
            var reason =
                plan.showsOwnLinksOnly
                ? [] : edits.reasons[number]?.intersection(.refreshPath) ?? []
            if plan.placesByRelated,
                let shows = shows?.differ(number, overlay[number], fresh[number])
            {
                reason = shows ? .refreshPath : []
            }
            if let shown = shownRow(number) {
                reason.formUnion(RowChangeCollector.difference(shown, target))
                if isChange(number, fresh, changes[number]) {
                    reason.insert(.ownValues)
                    noteEdits(number, fresh)
                }
                if reason.isEmpty { continue }
            } else {
                reason.insert(.ownValues)
                noteEdits(number, fresh)
            }
            laid.upserted.append(target)
            laid.reasons[number] = reason
        }
        for number in concerned { overlay.lay(number, fresh[number]) }
        edits = laid
        return concerned
    }

    private func noteEdits(_ number: ObjectNumber, _ fresh: [ObjectNumber: OverlayEntry]) {
        for edits in [overlay[number]?.edits, fresh[number]?.edits] {
            if let edits { causes.note(number, edits.mask) }
        }
    }

    /// Whether the values that are shown for an object differ, because of added or dropped edits or
    /// a merged change.
    func isChange(
        _ number: ObjectNumber, _ fresh: [ObjectNumber: OverlayEntry], _ change: Change?
    ) -> Bool {
        guard let record = (fresh[number] ?? overlay[number])?.record else { return false }
        return OverlayStep(
            record: record, before: overlay[number], after: fresh[number], change: change
        ).isChange
    }

    /// Applies the edits that were added or dropped since the last step.
    func applyOverlay() {
        guard let plan else { return }
        if lastOrderedList == nil { causes = ChangeCauses() }
        var edits = ListEdits()
        let edited = layEdits(over: &edits, plan)
        noteSums(edits, edited, plan.compiled.model, GroupReader(source, .empty))
        apply(edits, plan)
        if needsRefill { source.fillSoon() }
    }

    var isOverlayStale: Bool {
        overlay.isStale && interruption == nil
            && plan?.compiled.model === source.session?.model
    }

    func noteEdit(_ object: ObjectReference) { overlay.touch(object) }

    func noteLoaded() { overlay.touchUnplaced() }

    func stepOverlay() -> Bool {
        guard isOverlayStale else { return false }
        applyOverlay()
        return !outbox.isEmpty || observer != nil
    }

    // MARK: Fetched lists

    /// Returns the rows of an answer with the context's edits applied, and these edits.
    func laid(
        over rows: [ResultRow], _ fresh: inout [ObjectNumber: OverlayEntry], _ plan: ResultsPlan
    ) -> (rows: [ResultRow], edits: ListEdits) {
        if fresh.isEmpty { return (rows, ListEdits()) }
        for row in rows { fresh[row.number]?.stored = row }
        var edits = ListEdits()
        for (number, var overlaid) in fresh {
            let target = place(&overlaid, plan, isLaid: false)
            fresh[number] = overlaid
            if let target {
                edits.upserted.append(target)
            } else {
                edits.removed.append(number)
            }
        }
        return (rows.filter { fresh[$0.number] == nil } + edits.upserted, edits)
    }
}

extension ListEdits {
    var isEmpty: Bool { removed.isEmpty && upserted.isEmpty && unmoved.isEmpty }

    /// Returns the effect of the edits on some rows: nil for a removed row, and no entry for an
    /// unaffected one.
    fileprivate func stored(of numbers: Set<ObjectNumber>) -> [ObjectNumber: ResultRow?] {
        var stored: [ObjectNumber: ResultRow?] = [:]
        for number in removed where numbers.contains(number) {
            stored.updateValue(nil, forKey: number)
        }
        for row in upserted where numbers.contains(row.number) { stored[row.number] = row }
        return stored
    }

    fileprivate func leavingOut(_ numbers: Set<ObjectNumber>) -> ListEdits {
        ListEdits(
            removed: removed.filter { !numbers.contains($0) },
            upserted: upserted.filter { !numbers.contains($0.number) },
            unmoved: unmoved.filter { !numbers.contains($0) },
            reasons: reasons.filter { !numbers.contains($0.key) })
    }
}

extension MergedGroup {
    /// Returns the net changes of some objects.
    func changes(of numbers: some Collection<ObjectNumber>) -> [ObjectNumber: Change] {
        var found: [ObjectNumber: Change] = [:]
        let numbers = Set(numbers)
        for change in changes where numbers.contains(change.object.number) {
            found[change.object.number] = change
        }
        return found
    }
}
