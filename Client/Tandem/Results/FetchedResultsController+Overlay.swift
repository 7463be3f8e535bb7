import TandemModel
import TandemQuery
import TandemResults

/// The context's edits over the list: only objects that were edited themselves come, go or move by them, as in a fetch.
///
/// `list` and `held` have them in; `overlay` remembers where the store has the objects that they are about.
extension FetchedResultsController {
    /// The edits that lie over objects which the plan may list, without where these are stored.
    func edits(over plan: ResultsPlan) -> [ObjectNumber: OverlaidEdits] {
        guard includesPendingChanges, context.hasEdits else { return [:] }
        var layers: [ObjectReference: [ObjectRecord]] = [:]
        for level in context.lineage.reversed() {
            for record in level.editedRecords
            where record.hasEdits && plan.compiled.includes(tag: record.reference.tag) {
                // What is edited during its save is listed twice.
                guard layers[record.reference]?.last !== record else { continue }
                layers[record.reference, default: []].append(record)
            }
        }
        var found: [ObjectNumber: OverlaidEdits] = [:]
        for (reference, layers) in layers {
            let record = context.record(reference)
            found[reference.number] = OverlaidEdits(record, layers: layers)
        }
        return found
    }

    /// Where an edited object belongs; nil if it does not match.
    ///
    /// What can't be judged here stays as the store has it.
    private func place(_ overlaid: OverlaidEdits, _ plan: ResultsPlan) -> ResultRow? {
        let record = overlaid.record
        if record.isDeleted { return nil }
        let (compiled, object) = (plan.compiled, record.reference)
        guard let row = record.currentRow(modelVersion: compiled.model.version) else {
            source.loadSoon([object])
            return overlaid.stored
        }
        let reader = ContextReader(context: context, includesEdits: true)
        source.loadSoon(compiled.unknown(behind: row, reader))
        guard compiled.matches(object, row, reader) ?? (overlaid.stored != nil) else { return nil }
        guard let key = compiled.sortKey(object, row, reader),
            case .known(let name) = compiled.section(object, row, reader)
        else { return overlaid.stored }
        return ResultRow(
            number: object.number, entityTag: object.tag, sortKey: key, section: name)
    }

    // MARK: Stepping

    /// Puts the context's edits, as they are now, on top of what a group makes of rows as stored.
    func layEdits(over edits: inout ListEdits, _ plan: ResultsPlan, _ group: MergedGroup? = nil) {
        let isNew = overlaidSerial != editSerial
        overlaidSerial = editSerial
        if let group, !isNew, plan.mode == .own, !overlay.isEmpty,
            !group.changes.contains(where: { overlay[$0.object.number] != nil })
        {
            return
        }
        if overlay.isEmpty, !context.hasEdits { return }
        var fresh = self.edits(over: plan)
        let concerned = Set(overlay.keys).union(fresh.keys)
        if concerned.isEmpty { return }
        let stored = edits.stored(of: concerned)
        for number in fresh.keys { fresh[number]?.stored = stored[number] ?? row(number) }
        let changes = group?.changes(of: concerned) ?? [:]
        var laid = edits.leavingOut(concerned)
        for number in concerned.sorted() {
            let target =
                fresh[number].map { place($0, plan) } ?? (stored[number] ?? row(number))
            guard let target else {
                if shownRow(number) != nil { laid.removed.append(number) }
                continue
            }
            var reason = edits.reasons[number]?.intersection(.refreshPath) ?? []
            if let shown = shownRow(number) {
                reason.formUnion(RowJudge.difference(shown, target))
                if isChange(number, fresh, changes[number]) {
                    reason.insert(.ownValues)
                    noteEdits(number, fresh)
                }
                if reason.isEmpty { continue }
            } else {
                reason.insert(.ownValues)
            }
            laid.upserted.append(target)
            laid.reasons[number] = reason
        }
        overlay = fresh
        edits = laid
    }

    private func noteEdits(_ number: ObjectNumber, _ fresh: [ObjectNumber: OverlaidEdits]) {
        for edits in [overlay[number]?.edits, fresh[number]?.edits] {
            if let edits { causes.note(number, edits.mask) }
        }
    }

    /// Whether the values that an object shows differ, by edits that came or went and by what was merged.
    func isChange(
        _ number: ObjectNumber, _ fresh: [ObjectNumber: OverlaidEdits], _ change: Change?
    ) -> Bool {
        guard let record = (fresh[number] ?? overlay[number])?.record else { return false }
        return OverlayStep(
            record: record, before: overlay[number], after: fresh[number], change: change
        ).isChange
    }

    /// Takes in edits that came or went.
    func applyOverlay() {
        guard let plan else { return }
        var edits = ListEdits()
        layEdits(over: &edits, plan)
        noteSums(edits, plan.compiled.model, GroupReader(source, ChangeTable([])))
        apply(edits, plan)
        if isWaiting { source.link.signal() }
    }

    var isOverlayStale: Bool {
        editSerial != overlaidSerial && interruption == nil
            && plan?.compiled.model === source.session?.model
    }

    func stepOverlay() -> Bool {
        guard isOverlayStale else { return false }
        applyOverlay()
        return !outbox.isEmpty || follower != nil
    }

    /// Changes with every edit of the context or of one that it saves into.
    private var editSerial: Int {
        var sum = context.editSerial
        var above = context.parent
        while let parent = above {
            sum &+= parent.editSerial
            above = parent.parent
        }
        return sum
    }

    // MARK: A list that is fetched anew

    /// The rows of an answer with the context's edits, and the edits by which they differ.
    func laid(
        over rows: [ResultRow], _ fresh: inout [ObjectNumber: OverlaidEdits], _ plan: ResultsPlan
    ) -> (rows: [ResultRow], edits: ListEdits) {
        if fresh.isEmpty { return (rows, ListEdits()) }
        for row in rows { fresh[row.number]?.stored = row }
        var edits = ListEdits()
        for (number, overlaid) in fresh {
            if let target = place(overlaid, plan) {
                edits.upserted.append(target)
            } else {
                edits.removed.append(number)
            }
        }
        return (rows.filter { fresh[$0.number] == nil } + edits.upserted, edits)
    }
}

extension ListEdits {
    var isEmpty: Bool { removed.isEmpty && upserted.isEmpty }

    /// What the edits make of some rows; nothing for those that they leave alone.
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
            reasons: reasons.filter { !numbers.contains($0.key) })
    }
}

extension MergedGroup {
    /// The net changes of some objects.
    func changes(of numbers: some Collection<ObjectNumber>) -> [ObjectNumber: Change] {
        var found: [ObjectNumber: Change] = [:]
        let numbers = Set(numbers)
        for change in changes where numbers.contains(change.object.number) {
            found[change.object.number] = change
        }
        return found
    }
}
