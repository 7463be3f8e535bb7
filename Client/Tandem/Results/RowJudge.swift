import TandemModel
import TandemQuery
import TandemResults
import TandemWire

/// Collects what a group makes of single rows.
struct RowJudge {
    let plan: ResultsPlan
    var reader: GroupReader
    /// The changes of the group that is decided, of which some are of objects of the list's entity.
    private var noted = ChangeTable([])
    private(set) var edits = ListEdits()

    init(plan: ResultsPlan, reader: GroupReader) {
        self.plan = plan
        self.reader = reader
    }

    /// Notes which objects changed by themselves.
    mutating func note(_ group: MergedGroup) {
        noted = group.table
        edits.upserted.reserveCapacity(group.changes.count)
        edits.reasons.reserveCapacity(group.changes.count)
    }

    /// The changes of objects of the list's entity whose own values or relationships differ.
    var own: some Sequence<Change> { noted.all.lazy.filter(isOwn) }

    /// How an object of the list's entity differs by itself.
    func own(_ number: ObjectNumber) -> Change? {
        noted[number].flatMap { isOwn($0) ? $0 : nil }
    }

    private func isOwn(_ change: Change) -> Bool {
        plan.compiled.includes(tag: change.object.tag) && !change.changed.isEmpty
    }

    /// Whether a verdict is about a row of the list's entity that can be read.
    func isReadable(_ verdict: Verdict) -> Bool {
        guard plan.compiled.includes(tag: verdict.object.tag),
            let entity = plan.compiled.model.entity(tagged: verdict.object.tag)
        else { return false }
        return verdict.row.map { $0.isValid(for: entity) } ?? true
    }

    /// Whether a row's own change said everything, so that what it reaches need not be looked at.
    func hasConsidered(_ number: ObjectNumber, _ plan: ResultsPlan) -> Bool {
        own(number).map { !plan.leavesPlace($0) } ?? false
    }

    /// Whether an object matches; what can't be known does not.
    func matches(_ object: ObjectReference, _ row: Row) -> Bool {
        plan.compiled.matches(object, row, reader) ?? false
    }

    // MARK: Single rows

    /// Considers a change by what the object's own values say.
    mutating func consider(_ change: Change, held: ResultRow?) {
        if let held, plan.leavesPlace(change) {
            if !change.changed.isEmpty { upsert(held, .ownValues) }
            return
        }
        switch change.kind {
        case .delete: consider(change.object, nil, [], held: held)
        case .insert, .update:
            // An object outside the list stays there if nothing that decides is different.
            if plan.leavesPlace(change) { return }
            let row = change.row.flatMap { matches(change.object, $0) ? $0 : nil }
            consider(change.object, row, [], held: held)
        case .touch:
            if let held, !change.changed.isEmpty { upsert(held, .ownValues) }
        }
    }

    /// Considers a row that reaches something that changed.
    mutating func considerAffected(_ object: ObjectReference, held: ResultRow?) {
        guard case .row(let row) = reader.row(of: object) else { return }
        consider(object, row, isRefreshed(object) ? .refreshPath : [], held: held)
    }

    /// Considers an object that matches with this row, or does not match.
    mutating func consider(
        _ object: ObjectReference, _ row: Row?, _ reason: ChangeReason, held: ResultRow?
    ) {
        let number = object.number
        guard let row, let new = resultRow(object, row) else {
            if held != nil { edits.removed.append(number) }
            return
        }
        var reason = reason
        let isOwn = own(number) != nil
        if isOwn { reason.insert(.ownValues) }
        if let held {
            reason.formUnion(RowJudge.difference(held, new))
            if reason.isEmpty { return }
        } else if !isOwn {
            reason.insert(.predicatePath)
        }
        upsert(new, reason)
    }

    private mutating func upsert(_ row: ResultRow, _ reason: ChangeReason) {
        edits.upserted.append(row)
        edits.reasons[row.number] = reason
    }

    /// Whether the values that a row shows of other objects differ.
    func isRefreshed(_ object: ObjectReference) -> Bool {
        let earlier = EarlierReader(now: reader, model: plan.compiled.model)
        guard case .row(let before) = earlier.row(of: object),
            case .row(let now) = reader.row(of: object)
        else { return false }
        return plan.compiled.refreshValues(object, before, earlier)
            != plan.compiled.refreshValues(object, now, reader)
    }

    /// What places a row; nil when the row isn't one of the list's entity.
    func resultRow(_ object: ObjectReference, _ row: Row) -> ResultRow? {
        guard let key = plan.compiled.sortKey(object, row, reader) else { return nil }
        guard case .known(let name) = plan.compiled.section(object, row, reader) else { return nil }
        return ResultRow(
            number: object.number, entityTag: object.tag, sortKey: key, section: name)
    }

    static func difference(_ old: ResultRow, _ new: ResultRow) -> ChangeReason {
        var reason: ChangeReason = []
        if old.sortKey != new.sortKey { reason.insert(.sortPath) }
        if old.section != new.section { reason.insert(.sectionPath) }
        return reason
    }

    // MARK: Answers

    /// The rows of an answer, with what became of them since.
    func rows(
        _ answer: Fetched, _ overrides: [ObjectNumber: (object: ObjectReference, row: Row?)]
    ) -> [ResultRow] {
        var rows: [ResultRow] = []
        rows.reserveCapacity(answer.objects.count)
        var overrides = overrides
        for object in answer.objects {
            if let override = overrides.removeValue(forKey: object.object.number) {
                if let row = override.row.flatMap({ resultRow(override.object, $0) }) {
                    rows.append(row)
                }
            } else {
                let current = reader.changes[object.object.number]?.row ?? object.row
                if let row = resultRow(object.object, current) { rows.append(row) }
            }
        }
        for (_, override) in overrides.sorted(by: { $0.key < $1.key }) {
            if let row = override.row.flatMap({ resultRow(override.object, $0) }) {
                rows.append(row)
            }
        }
        return rows
    }

    /// Cached rows, with the verdicts of an answer on them, and with what became of them since.
    func rows(
        _ cached: [ResultRow], _ verdicts: [Verdict],
        _ overrides: [ObjectNumber: (object: ObjectReference, row: Row?)]
    ) -> [ResultRow] {
        var news = overrides
        for verdict in verdicts where isReadable(verdict) && news[verdict.object.number] == nil {
            news[verdict.object.number] = (verdict.object, verdict.matches ? verdict.row : nil)
        }
        let rest = cached.filter { news[$0.number] == nil }
        return rest
            + news.values.compactMap { news in news.row.flatMap { resultRow(news.object, $0) } }
    }

    /// The last place that an answer knows of, by the values at its own position.
    func edge(of answer: Fetched) -> ResultRow? {
        guard let last = answer.objects.last else { return nil }
        let stored = (answer.related + [last]).map { ($0.object.number, $0.row) }
        let reader = AnswerReader(rows: Dictionary(stored, uniquingKeysWith: { $1 }))
        guard let key = plan.compiled.sortKey(last.object, last.row, reader) else { return nil }
        return ResultRow(
            number: last.object.number, entityTag: last.object.tag, sortKey: key, section: "")
    }
}
