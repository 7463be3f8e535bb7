import TandemModel
import TandemQuery
import TandemResults
import TandemWire

extension FetchedResultsController {
    /// Returns the effect of a group on the rows, by the daemon's verdicts or by the rows and links
    /// held here.
    func decide(
        _ group: MergedGroup, _ verdicts: [Verdict]?, _ plan: ResultsPlan
    ) -> RowChangeCollector {
        var collector = RowChangeCollector(
            plan: plan, reader: GroupReader(source, group.table), rows: group.changes.count)
        collector.note(group)
        let stored = StoredRows(self)
        if let verdicts {
            collector.reader.isAuthoritative = true
            collector.reader.answered = Dictionary(
                verdicts.compactMap { verdict in verdict.row.map { (verdict.object.number, $0) } },
                uniquingKeysWith: { $1 })
            for verdict in verdicts where collector.isReadable(verdict) {
                let row = verdict.matches ? verdict.row : nil
                let reason: ChangeReason = verdict.refreshed ? .refreshPath : []
                collector.consider(verdict.object, row, reason, stored)
            }
            return collector
        }
        collector.considerOwn(stored)
        let related = plan.concerningRelated(group.table)
        if related.isEmpty { return collector }
        let affected = links?.affected(by: related) ?? []
        for number in affected.sorted() where !collector.hasConsidered(number, plan) {
            guard let reference = stored.reference(number) else { continue }
            collector.considerAffected(reference, stored)
        }
        return collector
    }

    /// Replaces the list by an answer, brought forward to the context's position.
    ///
    /// Returns false if this makes the pending fetch fail because sections are out of order; the
    /// old list then stays.
    func replace(
        by bufferedAnswer: BufferedAnswer, _ group: MergedGroup, _ verdicts: [Verdict]?
    ) -> Bool {
        let plan = bufferedAnswer.plan
        let answer = bufferedAnswer.answer
        let isOpening = opening != nil
        let tail = group.tail(after: answer.position, plan.compiled.model)
        var collector = RowChangeCollector(
            plan: plan, reader: GroupReader(source, ChangeTable(tail)))
        collector.reader.isAuthoritative = true
        let needsRows = plan.mode == .related || keepsRows(answer.objects.count)
        collector.reader.answered = answer.rows(includingObjects: needsRows)
        collector.note(group)
        let overrides = overrides(tail, verdicts, collector)
        let placed = placedList(bufferedAnswer, overrides)
        let rows =
            placed != nil
            ? []
            : bufferedAnswer.known.map { collector.rows($0.list.rows, $0.verdicts, overrides) }
                ?? collector.rows(answer, overrides)
        var known =
            plan.isWindow
            ? WindowRows(rows, edge: bufferedAnswer.isComplete ? nil : collector.edge(of: answer))
            : nil
        let related = relatedEdits(plan)
        if !related.isEmpty { hold(answer, group) }
        var fresh = editsReached(by: rows, related, plan)
            .merging(edits(over: plan)) { $1 }
        let laid = laid(over: rows, &fresh, plan)
        known?.apply(laid.edits)
        let new =
            placed ?? known.map { window(of: $0, plan) }
            ?? SectionedList(sectioned: plan.sectionKeyPath != nil, rows: laid.rows)
        opening = nil
        if isOpening, let problem = new.outOfOrder {
            openingFailure = TandemError(problem)
            return false
        }
        var reasons = survivors(of: laid.rows, answer, group, verdicts, collector)
        if interruption == nil { correct(&reasons, fresh, group) }
        relink(rows, bufferedAnswer, group, collector.reader, overrides)
        self.plan = plan
        overlay.replace(by: fresh, related: related)
        sum(answer, overrides, laid.edits, collector, isOpening: isOpening)
        (interruption, lastShownValues) = (nil, nil)
        isRefused = false
        windowRows = known
        if isOpening { outbox.removeAll() }
        causes = ChangeCauses()
        show(new, changed: reasons, isSilent: isOpening)
        return true
    }

    /// Returns the list built from an answer's placements, or nil if single rows matter: some
    /// changed since, are edited, or were shown before.
    private func placedList(
        _ bufferedAnswer: BufferedAnswer,
        _ overrides: [ObjectNumber: (object: ObjectReference, row: Row?)]
    ) -> SectionedList? {
        let plan = bufferedAnswer.plan
        guard let known = bufferedAnswer.known, known.verdicts.isEmpty, overrides.isEmpty,
            self.plan == nil, !plan.isWindow,
            relatedEdits(plan).isEmpty, edits(over: plan).isEmpty
        else { return nil }
        return known.list.places?.list
    }

    /// Returns the rows that changed after the answer: their current row if they match, otherwise
    /// nil.
    private func overrides(
        _ tail: [Change], _ verdicts: [Verdict]?, _ collector: RowChangeCollector
    ) -> [ObjectNumber: (object: ObjectReference, row: Row?)] {
        var overrides: [ObjectNumber: (object: ObjectReference, row: Row?)] = [:]
        if let verdicts {
            for verdict in verdicts where collector.isReadable(verdict) {
                let row = verdict.matches ? verdict.row : nil
                overrides[verdict.object.number] = (verdict.object, row)
            }
            return overrides
        }
        for change in tail where collector.plan.compiled.includes(tag: change.object.tag) {
            guard change.kind != .touch, !collector.plan.leavesPlace(change) else { continue }
            let row = change.row.flatMap { collector.matches(change.object, $0) ? $0 : nil }
            overrides[change.object.number] = (change.object, row)
        }
        return overrides
    }

    /// Returns the rows that stay in the list and count as changed, with the reasons.
    private func survivors(
        of rows: [ResultRow], _ answer: FetchAnswer, _ group: MergedGroup, _ verdicts: [Verdict]?,
        _ collector: RowChangeCollector
    ) -> [ObjectNumber: ChangeReason] {
        guard let old = self.plan else { return [:] }
        var reasons: [ObjectNumber: ChangeReason] = [:]
        for change in collector.own { reasons[change.object.number] = .ownValues }
        for verdict in verdicts ?? [] where verdict.refreshed {
            reasons[verdict.object.number, default: []].formUnion(.refreshPath)
        }
        // If the gap began with this group, the group has all changes since, unless only the daemon
        // can evaluate them.
        let isUnjudged =
            verdicts == nil && collector.plan.mode == .verdicts
            && group.changes.contains(where: collector.plan.concernsRelated)
        if let interruption, let now = source.position,
            isUnjudged || !group.begins(at: interruption, now)
        {
            let isOtherLog = !interruption.isComparable(with: now)
            for object in answer.objects {
                let number = object.object.number
                if isOtherLog || object.version > interruption.number
                    || collector.plan.compiled.countsLinks(object.object)
                {
                    reasons[number, default: []].formUnion(.ownValues)
                } else if mayShowOthers(object, collector) {
                    reasons[number, default: []].formUnion(.refreshPath)
                }
            }
        }
        if verdicts == nil, let affected = links?.affected(by: group.changes) {
            var collector = collector
            collector.reader.changes = group.table
            for number in affected {
                guard let reference = reference(number), collector.isRefreshed(reference) else {
                    continue
                }
                reasons[number, default: []].formUnion(.refreshPath)
            }
        }
        // Keys of different orders can't be compared.
        guard old.request.sort == collector.plan.request.sort,
            old.sectionKeyPath == collector.plan.sectionKeyPath
        else { return reasons }
        // Compare with the shown rows, edits included: a save of an edit that is shown moves
        // nothing.
        for row in rows {
            guard let old = shownRow(row.number) else { continue }
            let reason = RowChangeCollector.difference(old, row)
            if !reason.isEmpty { reasons[row.number, default: []].formUnion(reason) }
        }
        return reasons
    }

    /// Collects the values to be summed of a list that was fetched.
    private func sum(
        _ answer: FetchAnswer,
        _ overrides: [ObjectNumber: (object: ObjectReference, row: Row?)], _ laid: ListEdits,
        _ collector: RowChangeCollector, isOpening: Bool
    ) {
        let plan = collector.plan
        let fresh = isOpening ? openingSums : sums.flatMap { try? $0.emptied(for: plan) }
        sums = fresh
        guard let fresh, !fresh.isEmpty else { return }
        let model = plan.compiled.model
        for object in answer.objects {
            let row = collector.reader.changes[object.object.number]?.row ?? object.row
            sums?.note(row, of: object.object, model)
        }
        for (object, row) in overrides.values {
            if let row { sums?.note(row, of: object, model) }
        }
        noteSums(laid, Set(overlay.entries.keys), model, GroupReader(source, .empty))
    }

    /// Drops the reasons of changes that the context's edits showed before.
    private func correct(
        _ reasons: inout [ObjectNumber: ChangeReason], _ fresh: [ObjectNumber: OverlayEntry],
        _ group: MergedGroup
    ) {
        let concerned = Set(overlay.entries.keys).union(fresh.keys)
        if concerned.isEmpty { return }
        let changes = group.changes(of: concerned)
        for number in concerned {
            if isChange(number, fresh, changes[number]) {
                reasons[number, default: []].insert(.ownValues)
            } else {
                // The values that it shows of other objects may still differ.
                let reached = reasons[number]?.intersection([.refreshPath, .sortPath, .sectionPath])
                reasons[number] = reached?.isEmpty == true ? nil : reached
            }
        }
    }

    /// Whether the rows of a list are few enough to be kept in the context.
    ///
    /// If they are not, the daemon is asked which rows refer to a changed object.
    private func keepsRows(_ count: Int) -> Bool { count <= source.core.limits.cachedRows / 2 }

    /// Stores the rows of an answer in the context, in their current state, before edits are
    /// applied.
    private func hold(_ answer: FetchAnswer, _ group: MergedGroup) {
        let changes = group.changes(of: answer.versions.keys)
        for stored in Array(answer.objects) + answer.related {
            let number = stored.object.number
            if changes[number]?.kind == .delete { continue }
            let row = changes[number]?.row ?? stored.row
            source.hold(stored.object, row, version: group.versions[number] ?? stored.version)
        }
    }

    /// Replaces the links of the list, and keeps its rows in the context if they are few enough.
    private func relink(
        _ rows: [ResultRow], _ bufferedAnswer: BufferedAnswer, _ group: MergedGroup,
        _ reader: GroupReader, _ overrides: [ObjectNumber: (object: ObjectReference, row: Row?)]
    ) {
        var old = links
        let answer = bufferedAnswer.answer
        // A list opened from a cache or from placements has no row values.
        let keepsRows = keepsRows(rows.count) && bufferedAnswer.known == nil
        var new = ResultsLinks(bufferedAnswer.plan, pinsRows: keepsRows)
        if keepsRows || !new.isEmpty {
            var versions = RowVersions(answer.versions)
            versions.merge(group.versions)
            let current = rows.lazy.compactMap { row -> (number: ObjectNumber, row: Row)? in
                let reference = ObjectReference(tag: row.entityTag, number: row.number)
                guard case .row(let bytes) = reader.row(of: reference) else { return nil }
                let current = overrides[row.number]?.row ?? bytes
                if keepsRows {
                    self.source.hold(reference, current, version: versions[row.number])
                }
                return (row.number, current)
            }
            if let (list, verdicts) = bufferedAnswer.known {
                let news = Set(verdicts.map(\.object.number)).union(overrides.keys)
                new.take(list, without: news, source, reader, versions)
                let judged = Dictionary(
                    verdicts.map { ($0.object.number, $0.row) }, uniquingKeysWith: { $1 })
                for number in rows.lazy.map(\.number) where news.contains(number) {
                    guard let row = overrides[number]?.row ?? judged[number] ?? nil else {
                        continue
                    }
                    new.note(number, row, source, reader, versions)
                }
            } else {
                new.note(current, source, reader, versions)
            }
        }
        old?.forgetAll(source)
        links = new.isEmpty ? nil : new
    }
}

extension CompiledRequest {
    /// Whether the entity has an attribute that counts links, which may change without a new row
    /// version.
    fileprivate func countsLinks(_ object: ObjectReference) -> Bool {
        model.entity(tagged: object.tag)?.derivations.contains { $0.kind == .count } ?? false
    }
}

extension FetchAnswer {
    /// Returns the rows of related objects by number, and those of the listed objects if requested.
    fileprivate func rows(includingObjects: Bool) -> [ObjectNumber: Row] {
        var rows: [ObjectNumber: Row] = [:]
        for object in related { rows[object.object.number] = object.row }
        guard includingObjects else { return rows }
        rows.reserveCapacity(objects.count + related.count)
        for object in objects { rows[object.object.number] = object.row }
        return rows
    }

    /// The versions of all rows, by number.
    fileprivate var versions: [ObjectNumber: UInt64] {
        var versions: [ObjectNumber: UInt64] = [:]
        for object in related + objects { versions[object.object.number] = object.version }
        return versions
    }
}
