import TandemModel
import TandemQuery
import TandemResults
import TandemWire

/// The answer to a fetch, buffered until a merge brings the context to its position or beyond.
struct BufferedAnswer {
    var plan: ResultsPlan
    var answer: FetchAnswer
    /// Whether the answer includes the last row of the result.
    var isComplete: Bool
    /// A list without row values, and the verdicts on some of its rows up to the answer's position;
    /// nil if the answer has all rows.
    var known: (list: PlacementList, verdicts: [Verdict])?

    /// Returns whether merging the group brings the context to the answer's position or beyond.
    func covers(_ group: MergedGroup) -> Bool {
        group.from <= answer.position && answer.position <= group.to
    }

    /// Returns the net changes of a group after the answer's position.
    func tail(of group: MergedGroup) -> [Change] {
        let position = answer.position
        if position >= group.to { return [] }
        if position <= group.from { return group.changes }
        let rest = group.transactions.filter { $0.position > position }
        return MergedGroup(
            from: position, to: group.to, transactions: rest, model: plan.compiled.model
        ).changes
    }
}

/// A buffered answer, updated with the later changes in its merge group.
struct CaughtUpAnswer {
    let buffered: BufferedAnswer
    let group: MergedGroup
    let verdicts: [Verdict]?
    let collector: RowChangeCollector
    /// The objects that changed after the answer, each with its row, or nil if it does not match.
    let overrides: [ObjectNumber: (object: ObjectReference, row: Row?)]
    private let source: ManagedObjectContext

    init(
        _ buffered: BufferedAnswer, _ group: MergedGroup, _ verdicts: [Verdict]?,
        _ source: ManagedObjectContext
    ) {
        let (plan, answer) = (buffered.plan, buffered.answer)
        let tail = buffered.tail(of: group)
        var collector = RowChangeCollector(
            plan: plan, reader: GroupReader(source, ChangeTable(tail)))
        collector.reader.isAuthoritative = true
        let needsRows = plan.mode == .related || answer.objects.count <= source.core.limits.keptRows
        collector.reader.answered = answer.rows(includingObjects: needsRows)
        collector.record(group)
        self.buffered = buffered
        self.group = group
        self.verdicts = verdicts
        self.collector = collector
        self.source = source
        overrides = Self.overrides(tail, verdicts, collector)
    }

    private static func overrides(
        _ tail: [Change], _ verdicts: [Verdict]?, _ collector: RowChangeCollector
    ) -> [ObjectNumber: (object: ObjectReference, row: Row?)] {
        var overrides: [ObjectNumber: (object: ObjectReference, row: Row?)] = [:]
        for verdict in verdicts ?? [] where collector.isReadable(verdict) {
            let row = verdict.matches ? verdict.row : nil
            overrides[verdict.object.number] = (verdict.object, row)
        }
        if verdicts != nil { return overrides }
        for change in tail where collector.plan.compiled.includes(tag: change.object.tag) {
            guard change.kind != .touch, !collector.plan.keepsPlacement(change) else { continue }
            let row = change.row.flatMap { collector.matches(change.object, $0) ? $0 : nil }
            overrides[change.object.number] = (change.object, row)
        }
        return overrides
    }

    var plan: ResultsPlan { buffered.plan }

    var answer: FetchAnswer { buffered.answer }

    /// The placements of the whole list; nil if there are none, or if individual rows changed after
    /// the answer.
    var placements: ReceivedPlacements? {
        guard let known = buffered.known, known.verdicts.isEmpty, overrides.isEmpty,
            !plan.isWindow
        else { return nil }
        return known.list.placements
    }

    /// The rows in any order, without the context's edits.
    var rows: [ResultRow] {
        var (rows, overridden) = ([ResultRow](), overrides)
        if let (list, verdicts) = buffered.known {
            for verdict in verdicts where collector.isReadable(verdict) {
                let row = verdict.matches ? verdict.row : nil
                if overridden[verdict.object.number] == nil {
                    overridden[verdict.object.number] = (verdict.object, row)
                }
            }
            rows = list.rows
            if !overridden.isEmpty { rows.removeAll { overridden[$0.number] != nil } }
        } else {
            rows.reserveCapacity(answer.objects.count)
            for stored in answer.objects where overridden[stored.object.number] == nil {
                let current = collector.reader.changes[stored.object.number]?.row ?? stored.row
                if let row = collector.resultRow(stored.object, current) { rows.append(row) }
            }
        }
        return rows
            + overridden.values.compactMap { new in
                new.row.flatMap { collector.resultRow(new.object, $0) }
            }
    }

    /// Returns the known rows of a list with a limit or an offset; nil for any other list.
    func window(_ rows: [ResultRow]) -> WindowRows? {
        guard plan.isWindow else { return nil }
        return WindowRows(rows, edge: buffered.isComplete ? nil : collector.edge(of: answer))
    }

    /// The rows that the group itself changed, with the reasons for the changes.
    var reasons: [ObjectNumber: ChangeReason] {
        var reasons: [ObjectNumber: ChangeReason] = [:]
        for change in collector.own { reasons[change.object.number] = .ownValues }
        for verdict in verdicts ?? [] where verdict.refreshed {
            reasons[verdict.object.number, default: []].formUnion(.refreshPath)
        }
        return reasons
    }

    /// Returns whether the group contains all changes since a position, and the client can evaluate
    /// all of them.
    func hasAllChanges(since position: Position, _ now: Position) -> Bool {
        let isUndecided =
            verdicts == nil && plan.mode == .verdicts
            && group.changes.contains(where: plan.concernsRelated)
        return !isUndecided && group.begins(at: position, now)
    }

    /// Returns the sums with the values of all rows.
    func summed(_ sums: ResultsSums) -> ResultsSums {
        if sums.isEmpty { return sums }
        var sums = sums
        let model = plan.compiled.model
        for object in answer.objects {
            let row = collector.reader.changes[object.object.number]?.row ?? object.row
            sums.record(row, of: object.object, model)
        }
        for (object, row) in overrides.values {
            if let row { sums.record(row, of: object, model) }
        }
        return sums
    }

    // MARK: Rows in the context

    /// Stores the current rows of the answer in the context, before edits are applied.
    func hold() {
        let changes = group.changes(of: answer.versions.keys)
        for stored in Array(answer.objects) + answer.related {
            let number = stored.object.number
            if changes[number]?.kind == .delete { continue }
            let row = changes[number]?.row ?? stored.row
            source.graph.storeRow(
                stored.object, row, version: group.versions[number] ?? stored.version)
        }
    }

    /// Returns the links of the rows; keeps the rows in the context if there are few enough.
    func links(of rows: [ResultRow]) -> ResultsLinks {
        // A list opened from a cache or from placements has no row values.
        let keepsRows = rows.count <= source.core.limits.keptRows && buffered.known == nil
        var links = ResultsLinks(plan, pinsRows: keepsRows)
        guard keepsRows || !links.isEmpty else { return links }
        let reader = collector.reader
        var versions = RowVersions(answer.versions)
        versions.merge(group.versions)
        if let (list, verdicts) = buffered.known {
            let overridden = Set(verdicts.map(\.object.number)).union(overrides.keys)
            links.adopt(list, without: overridden, source, reader, versions)
            let verdictRows = Dictionary(
                verdicts.map { ($0.object.number, $0.row) }, uniquingKeysWith: { $1 })
            for number in rows.lazy.map(\.number) where overridden.contains(number) {
                guard let row = overrides[number]?.row ?? verdictRows[number] ?? nil else {
                    continue
                }
                links.record(number, row, source, reader, versions)
            }
            return links
        }
        let current = rows.lazy.compactMap { row -> (number: ObjectNumber, row: Row)? in
            let reference = ObjectReference(tag: row.entityTag, number: row.number)
            guard case .row(let bytes) = reader.row(of: reference) else { return nil }
            let current = overrides[row.number]?.row ?? bytes
            if keepsRows {
                source.graph.storeRow(reference, current, version: versions[row.number])
            }
            return (row.number, current)
        }
        links.record(current, source, reader, versions)
        return links
    }
}

extension ClientLimits {
    /// The maximum length of a list whose rows are kept in the context.
    ///
    /// For a longer list, the daemon is asked which rows refer to a changed object.
    var keptRows: Int { cachedRows / 2 }
}

extension FetchAnswer {
    /// Returns the rows of related objects by number, and the rows of the listed objects if
    /// requested.
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
