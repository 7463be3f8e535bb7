import TandemModel
import TandemResults
import TandemWire

extension FetchedResultsController {
    /// The list that is shown: `list`, or the last one that was in order.
    var visible: SectionedList { lastOrderedList ?? list }

    /// Applies the collected changes of single rows.
    func apply(_ collector: RowChangeCollector, _ group: MergedGroup, _ verdicts: [Verdict]?) {
        if lastOrderedList == nil { causes = ChangeCauses() }
        causes.note(group, collector)
        var edits = collector.edits
        if !edits.isEmpty { relink(collector, group, verdicts) }
        let edited = layEdits(over: &edits, collector.plan, group)
        noteSums(edits, edited, collector.plan.compiled.model, collector.reader)
        apply(edits, collector.plan)
        if needsRefill { source.fillSoon() }
    }

    func apply(_ edits: ListEdits, _ plan: ResultsPlan) {
        if edits.isEmpty { return }
        if windowRows != nil {
            applyToWindow(edits, plan)
        } else {
            applyToList(edits)
        }
    }

    private func applyToWindow(_ edits: ListEdits, _ plan: ResultsPlan) {
        guard var known = windowRows else { return }
        windowRows = nil
        known.apply(edits)
        var gone = edits.upserted.map(\.number).filter { known.row($0) == nil }
        if let needed = plan.needed, known.rows.count / 8 > needed + slack {
            gone += known.trim(to: needed + 2 * slack)
        }
        for number in gone {
            links?.forget(number, source)
            sums?.forget(number)
        }
        windowRows = known
        show(window(of: known, plan), changed: edits.reasons, isSilent: false)
    }

    private func applyToList(_ edits: ListEdits) {
        let old = needsOldList ? visible : nil
        switch list.apply(edits) {
        case .failed(let problem):
            if lastOrderedList != nil { owe(edits.reasons) }
            fail(TandemError(problem))
        case .changed(let change) where lastOrderedList == nil:
            report(change, old: old, isRecovery: recover())
        case .unchanged where lastOrderedList == nil: break
        case .changed, .unchanged:
            owe(edits.reasons)
            if list.outOfOrder == nil { show(list, changed: [:], isSilent: false) }
        }
        if list.outOfOrder == nil, lastOrderedList == nil, recover() {
            report(.none, old: old, isRecovery: true)
        }
    }

    /// Returns the part of the known rows that is shown, as a list.
    func window(of windowRows: WindowRows, _ plan: ResultsPlan) -> SectionedList {
        let rows = windowRows.window(offset: plan.request.offset, limit: plan.request.limit)
        return SectionedList(sectioned: plan.sectionKeyPath != nil, rows: Array(rows))
    }

    /// Replaces the list, and reports the difference as one change.
    ///
    /// If the new list is out of order, the error is reported and the previous list stays visible.
    func show(
        _ new: SectionedList, changed: [ObjectNumber: ChangeReason], isSilent: Bool
    ) {
        owe(changed)
        let old = lastOrderedList ?? list
        list = new
        if let problem = new.outOfOrder {
            lastOrderedList = old
            fail(TandemError(problem))
            return
        }
        lastOrderedList = nil
        let isRecovery = recover()
        defer { unreportedReasons = [:] }
        changesSinceCached += isSilent ? new.count + 1 : 0
        if isSilent && !isHeardSilently { return }
        let change = new.change(from: old, changed: unreportedReasons) ?? .none
        // The first list and a recovery are reported even if nothing differs.
        guard !change.isEmpty || isRecovery || lastPosition == nil else {
            if isSilent { outbox.append(.unchanged) }
            return
        }
        report(
            change, old: needsOldList ? old : nil, isSilent: isSilent, isRecovery: isRecovery)
    }

    private func owe(_ reasons: [ObjectNumber: ChangeReason]) {
        unreportedReasons.merge(reasons) { $0.union($1) }
    }

    // MARK: Outcomes

    func fail(_ failure: TandemError) {
        // A list that is out of order is reported once, not with every merge that leaves it so.
        let isNews = error?.code != failure.code
        error = failure
        guard isNews else { return }
        observer?.noteFailure()
        var told: ControllerChange?
        if let position = source.position, let plan {
            let change = ControllerChange(
                position: position, isSectioned: plan.sectionKeyPath != nil, error: failure,
                model: plan.compiled.model)
            feeds.publish(change, from: needsOldList ? visible : nil, to: visible)
            told = change
        }
        outbox.append(.failure(failure, told))
    }

    func noteEnd(_ failure: TandemError) {
        fail(failure)
        deliver()
    }

    /// Clears the error, and returns whether there was one.
    @discardableResult
    private func recover() -> Bool {
        guard error != nil else { return false }
        observer?.noteFailure()
        error = nil
        return true
    }

    /// Whether any observer also receives fetches of the whole list.
    private var isHeardSilently: Bool {
        !feeds.isEmpty || observer != nil || onChange != nil
            || delegate is any FetchedResultsSnapshotDelegate
    }

    /// Whether any observer may need the list from before the next change.
    private var needsOldList: Bool {
        feeds.needsOldList || observer.map { $0.needsOldList } ?? false
    }

    /// Publishes a change to the feeds and the follower, and queues it for the delegate.
    private func report(
        _ change: ResultsChange, old: SectionedList?, isSilent: Bool = false,
        isRecovery: Bool = false
    ) {
        guard let position = source.position, let plan else { return }
        let value = ControllerChange(
            position: position, change: change, isFirstLoad: lastPosition == nil,
            isRecovery: isRecovery, isSectioned: plan.sectionKeyPath != nil, causes: causes,
            model: plan.compiled.model)
        causes = ChangeCauses()
        changesSinceCached += change.objects.count
        feeds.publish(value, from: old, to: list)
        if !change.isEmpty { observer?.note(value, from: old) }
        outbox.append(.change(value, isSilent: isSilent))
    }

    // MARK: Links

    /// Keeps the changed rows in the context, and updates their links.
    private func relink(
        _ collector: RowChangeCollector, _ group: MergedGroup, _ verdicts: [Verdict]?
    ) {
        for number in collector.edits.removed { links?.forget(number, source) }
        var versions = group.versions
        for verdict in verdicts ?? [] { versions[verdict.object.number] = verdict.version }
        let isRelatedChanged = !collector.plan.concerningRelated(group.table).isEmpty
        for at in collector.edits.upserted.indices {
            let number = collector.edits.upserted[at].number
            let origin = collector.origins[at]
            let reference = ObjectReference(
                tag: collector.edits.upserted[at].entityTag, number: number)
            let own = origin < 0 ? nil : group.changes[origin].row
            guard let bytes = own ?? collector.reader.row(of: reference).row else { continue }
            if !source.holds(number) {
                source.hold(reference, bytes, version: versions[number])
            }
            if !isRelatedChanged, origin >= 0, group.changes[origin].kind == .update,
                links?.staysLinked(number, group.changes[origin].changed) ?? true
            {
                continue
            }
            links?.note(number, bytes, source, collector.reader, versions)
        }
        holdUnmoved(collector, versions)
    }

    /// Keeps the rows that changed without moving in the context; their links stay as they are.
    private func holdUnmoved(_ collector: RowChangeCollector, _ versions: RowVersions) {
        for number in collector.edits.unmoved where !source.holds(number) {
            guard let change = collector.reader.changes[number], let row = change.row else {
                continue
            }
            source.hold(change.object, row, version: versions[number])
        }
    }
}

extension RowLookup {
    /// The row, if it is there.
    fileprivate var row: Row? { if case .row(let row) = self { row } else { nil } }
}
