import TandemModel
import TandemQuery
import TandemResults
import TandemWire

/// The content of a list: its rows with unsaved edits, and the objects to which the rows refer.
///
/// Each step is computed by value types (``RowChangeCollector``, ``EditOverlay``, ``ShownList``);
/// this class applies and reports their results. It also keeps the rows, and the objects to which
/// they refer, in the context.
final class FollowedList {
    let outbox = ResultsOutbox()
    private let source: ManagedObjectContext
    private(set) var shown: ShownList
    /// The known rows of a list with a limit or an offset; nil for other lists.
    private(set) var window: WindowRows?
    var overlay: EditOverlay
    private var links: ResultsLinks?
    private var sums: ResultsSums?
    /// The related values that rows showed before the context restarted; nil if they are not known.
    private var lastShownValues: LastShownValues?
    var cache = ListCache()

    init(_ context: ManagedObjectContext, isSectioned: Bool) {
        source = context.root
        shown = ShownList(isSectioned: isSectioned)
        overlay = EditOverlay(context)
    }

    deinit { links?.forgetAll(source) }

    // MARK: Reading

    private var rows: KnownRows { KnownRows(window: window, list: shown.list) }

    private var stored: StoredRows { StoredRows(overlay: overlay, rows: rows) }

    func sum(of property: String, inSection section: Int?) -> PropertyValue? {
        sums?.sum(property, section, of: shown.visible)
    }

    /// Returns whether edits removed rows and the remaining known rows do not fill a plan's window.
    func needsRefill(_ plan: ResultsPlan) -> Bool {
        guard let window, !window.isComplete, !overlay.entries.isEmpty else { return false }
        return window.rows.count < plan.neededRows ?? 0
    }

    // MARK: Requests

    /// Returns whether the context holds all objects to which the group's rows refer, so that no
    /// verdicts are needed.
    func canDecide(_ group: MergedGroup, _ plan: ResultsPlan) -> Bool {
        guard let links else { return true }
        let (table, reader) = (group.table, GroupReader(source, group.table))
        for part in table.parts where plan.compiled.includes(tag: table.tag(of: part)) {
            for at in part where table.all[at].kind.writesRow {
                let (kind, changed) = (table.all[at].kind, table.all[at].changed)
                if plan.keepsPlacement(kind, changed) { continue }
                guard let row = table.all[at].row else { continue }
                if plan.compiled.matches(table.all[at].object, row, reader) == false { continue }
                if !links.isKnown(row, reader) { return false }
            }
        }
        let related = plan.concerningRelated(table)
        if related.isEmpty { return true }
        let stored = self.stored
        return links.affected(by: related).allSatisfy { number in
            guard let reference = stored.reference(number),
                case .row(let row) = reader.row(of: reference)
            else { return false }
            return links.isKnown(row, reader)
        }
    }

    /// Returns an upper bound on the number of known rows that are removed or move beyond the edge.
    func losses(_ group: MergedGroup, _ verdicts: [Verdict]?, _ plan: ResultsPlan) -> Int {
        if let verdicts { return verdicts.count }
        if plan.mode == .verdicts { return 0 }
        let all = group.isBackward ? group.changes : group.transactions.flatMap(\.changes)
        let own = all.lazy.filter {
            plan.compiled.includes(tag: $0.object.tag) && $0.kind != .insert
                && !plan.keepsPlacement($0)
        }
        return own.count + (links?.affected(by: group.changes).count ?? 0)
    }

    // MARK: Stepping

    /// Applies the edits that were added or dropped since the last step.
    func applyOverlay(_ plan: ResultsPlan) {
        shown.begin()
        applyEdits(over: ListEdits(), plan, nil, GroupReader(source, .empty))
    }

    /// Applies a group, using the daemon's verdicts or the client's rows and links.
    func apply(_ group: MergedGroup, _ verdicts: [Verdict]?, _ plan: ResultsPlan) {
        let collector = RowChangeCollector(
            deciding: group, verdicts, plan, stored, links, source)
        shown.begin()
        shown.causes.record(group, collector)
        if !collector.edits.isEmpty { updateLinks(collector, group, verdicts) }
        applyEdits(over: collector.edits, plan, group, collector.reader)
    }

    /// Applies changes to stored rows, with the context's edits on top of them.
    private func applyEdits(
        over below: ListEdits, _ plan: ResultsPlan, _ group: MergedGroup?, _ reader: GroupReader
    ) {
        var edits = below
        let examined = overlay.apply(over: &edits, plan, group, rows, links, &shown.causes)
        sums?.record(edits, examined, stored, plan.compiled.model, reader)
        if !edits.isEmpty { apply(edits, plan) }
        if needsRefill(plan) { source.listUpdater.fillSoon() }
    }

    private func apply(_ edits: ListEdits, _ plan: ResultsPlan) {
        guard var known = window else {
            return report(shown.apply(edits, keepsOld: outbox.needsOldList), plan)
        }
        window = nil
        known.apply(edits)
        var dropped = edits.upserted.map(\.number).filter { known.row($0) == nil }
        let slack = source.core.limits.windowSlack
        if let neededRows = plan.neededRows, known.rows.count / 8 > neededRows + slack {
            dropped += known.trim(to: neededRows + 2 * slack)
        }
        for number in dropped {
            links?.forget(number, source)
            sums?.forget(number)
        }
        window = known
        show(known.list(of: plan), changed: edits.reasons, plan, isFullFetch: false)
    }

    /// Keeps the changed rows in the context, and updates their links.
    private func updateLinks(
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
            if !source.graph.hasRow(number) {
                source.graph.storeRow(reference, bytes, version: versions[number])
            }
            if !isRelatedChanged, origin >= 0, group.changes[origin].kind == .update,
                links?.staysLinked(number, group.changes[origin].changed) ?? true
            {
                continue
            }
            links?.record(number, bytes, source, collector.reader, versions)
        }
        // Rows that changed without moving keep their links.
        for number in collector.edits.unmoved where !source.graph.hasRow(number) {
            guard let change = collector.reader.changes[number], let row = change.row else {
                continue
            }
            source.graph.storeRow(change.object, row, version: versions[number])
        }
    }

    // MARK: Fetched lists

    /// Replaces the list with an answer that was updated to the context's position.
    ///
    /// `opening` contains the empty sums of a list that is opened; nil for a list that is fetched
    /// again. If a list that is opened is out of order, returns the problem and keeps the old list.
    func replace(
        by new: CaughtUpAnswer, _ phase: ResultsPhase, opening: ResultsSums?
    ) -> OutOfOrderSection? {
        let plan = new.plan
        let related = overlay.relatedEdits(plan)
        let isFirst = phase.plan == nil && related.isEmpty && overlay.makeEntries(for: plan).isEmpty
        let placed = isFirst ? new.placements?.list : nil
        let rows = placed == nil ? new.rows : []
        var known = new.window(rows)
        if !related.isEmpty { new.hold() }
        let edited = overlay.rowsWithEdits(over: rows, related, plan)
        known?.apply(edited.edits)
        let list =
            placed ?? known?.list(of: plan)
            ?? SectionedList(sectioned: plan.sectionKeyPath != nil, rows: edited.rows)
        if opening != nil, let problem = list.outOfOrder { return problem }
        var reasons = changeReasons(of: edited.rows, new, phase)
        if phase.interruption == nil { overlay.correct(&reasons, edited, new.group) }
        let links = new.links(of: rows)
        self.links?.forgetAll(source)
        self.links = links.isEmpty ? nil : links
        overlay.replace(by: edited, related: related)
        let names = sums?.properties.map(\.name) ?? []
        let emptied = opening ?? (try? ResultsSums(names, of: plan.compiled.entity))
        sums = emptied.map(new.summed)
        sums?.record(
            edited.edits, Set(edited.entries.keys), stored, plan.compiled.model,
            GroupReader(source, .empty))
        lastShownValues = nil
        window = known
        assert((window != nil) == plan.isWindow, "Only a window has rows of its own.")
        if opening != nil { outbox.discard() }
        shown.causes = ChangeCauses()
        show(list, changed: reasons, plan, isFullFetch: opening != nil)
        return nil
    }

    /// Returns the rows that stay in the list and count as changed, with the reasons for the
    /// changes.
    private func changeReasons(
        of rows: [ResultRow], _ new: CaughtUpAnswer, _ phase: ResultsPhase
    ) -> [ObjectNumber: ChangeReason] {
        guard let old = phase.plan else { return [:] }
        let plan = new.plan
        var reasons = new.reasons
        if let interruption = phase.interruption, let now = source.position,
            !new.hasAllChanges(since: interruption, now)
        {
            let isOtherLog = !interruption.isComparable(with: now)
            for object in new.answer.objects {
                let number = object.object.number
                if isOtherLog || object.version > interruption.number
                    || plan.compiled.countsLinks(object.object)
                {
                    reasons[number, default: []].formUnion(.ownValues)
                } else if mayShowOthers(object, new.collector) {
                    reasons[number, default: []].formUnion(.refreshPath)
                }
            }
        }
        let stored = self.stored
        if new.verdicts == nil, let affected = links?.affected(by: new.group.changes) {
            var collector = new.collector
            collector.reader.changes = new.group.table
            for number in affected {
                guard let reference = stored.reference(number), collector.isRefreshed(reference)
                else { continue }
                reasons[number, default: []].formUnion(.refreshPath)
            }
        }
        // Keys made for different sort orders can't be compared.
        guard old.request.sort == plan.request.sort, old.sectionKeyPath == plan.sectionKeyPath
        else { return reasons }
        // Compare with the shown rows, edits included, because saving an edit that is already shown
        // moves no row.
        for row in rows {
            guard let old = stored.rows.row(row.number) else { continue }
            let reason = RowChangeCollector.difference(old, row)
            if !reason.isEmpty { reasons[row.number, default: []].formUnion(reason) }
        }
        return reasons
    }

    /// Returns whether a row with unchanged own values may show changed values or members of other
    /// objects.
    ///
    /// Law 5 requires every change to be reported once, and nothing else. If history was lost and
    /// there are no values to compare, the row is reported: an unnecessary update is harmless, but
    /// a missed one would show wrong values.
    private func mayShowOthers(_ object: StoredObject, _ collector: RowChangeCollector) -> Bool {
        let (plan, reference) = (collector.plan, object.object)
        guard let lastShownValues else {
            let hasReadMembers = source.graph[reference.number]?.members.isEmpty == false
            return hasReadMembers || !plan.compiled.refreshKeyPaths.isEmpty
        }
        let values = plan.compiled.refreshValues(reference, object.row, collector.reader)
        return lastShownValues.mayDiffer(reference, values, plan)
    }

    /// Stores the related values shown by rows, before the context discards all loaded data.
    func storeLastShownValues(_ plan: ResultsPlan) {
        lastShownValues = LastShownValues(shown.list.allRows, plan, source)
    }

    // MARK: Reporting

    private func show(
        _ new: SectionedList, changed: [ObjectNumber: ChangeReason], _ plan: ResultsPlan,
        isFullFetch: Bool
    ) {
        let report = shown.show(
            new, changed: changed, isFullFetch: isFullFetch,
            hasObserver: !isFullFetch || outbox.hasFetchObserver, keepsOld: outbox.needsOldList)
        if isFullFetch, new.outOfOrder == nil { cache.recordChanges(new.count + 1) }
        self.report(report, plan)
    }

    /// Records and reports a failure.
    func fail(_ error: TandemError, _ plan: ResultsPlan?) {
        report(shown.fail(error, keepsOld: outbox.needsOldList), plan)
    }

    /// Records that the list is up to date with the context.
    func advance() { shown.position = source.position }

    private func report(_ report: ListReport?, _ plan: ResultsPlan?) {
        guard let report else { return }
        var change: ControllerChange?
        if let position = source.position, let plan {
            change = shown.change(report, at: position, plan)
        }
        if let change { cache.recordChanges(change.change.objects.count) }
        outbox.publish(report, change, visible: shown.visible)
    }

    /// Writes the list to its cache, if enough rows have changed since it was last written.
    func keepInCache(_ plan: ResultsPlan, isFinal: Bool) {
        guard !plan.isWindow, shown.error == nil, let position = shown.position else { return }
        cache.save(shown.list.count, isFinal: isFinal, source) {
            var rows = shown.list.allRows.filter { overlay.entries[$0.number] == nil }
            rows += overlay.entries.values.compactMap(\.stored)
            rows.sort { $0.precedes($1) }
            var snapshot = SectionCache(request: plan.cacheHash, position: position, rows: rows)
            if let links {
                guard let found = links.cachedLinks(of: rows, source) else { return nil }
                snapshot.links = found
            } else if ResultsLinks(plan, pinsRows: false).hopCount > 0 {
                return nil
            }
            return snapshot
        }
    }
}

extension CompiledRequest {
    /// Returns whether the entity has an attribute that counts links, which may change without a
    /// new row version.
    fileprivate func countsLinks(_ object: ObjectReference) -> Bool {
        model.entity(tagged: object.tag)?.derivations.contains { $0.kind == .count } ?? false
    }
}

extension RowLookup {
    /// The row; nil if it is missing or unknown.
    fileprivate var row: Row? { if case .row(let row) = self { row } else { nil } }
}
