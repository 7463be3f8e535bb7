import TandemModel
import TandemQuery
import TandemResults
import TandemWire

/// Collects what a group makes of single rows.
struct RowJudge {
    let plan: ResultsPlan
    var reader: GroupReader { didSet { keys?.forgetRelated() } }
    /// The changes of the group that is decided, of which some are of objects of the list's entity.
    private var noted = ChangeTable.empty
    /// What order and sections say of related objects, as the reader knows them.
    private let keys: GroupedKeys?
    /// The parts of the noted changes that are of objects of the list's entity.
    private(set) var ownParts: [Range<Int>] = []
    private(set) var edits = ListEdits()
    /// For each row in `edits.upserted` the place of its own change among those noted; negative where it has none.
    private(set) var origins: [Int] = []

    /// A judge of about so many rows.
    init(plan: ResultsPlan, reader: GroupReader, rows: Int = .max) {
        self.plan = plan
        self.reader = reader
        keys = rows < RowJudge.few ? nil : GroupedKeys(of: plan.compiled, sections: true)
    }

    /// Rows for which it is not worth while to remember what they reach.
    private static let few = 8

    /// Notes which objects changed by themselves.
    mutating func note(_ group: MergedGroup) {
        noted = group.table
        ownParts = noted.parts.filter { plan.compiled.includes(tag: noted.tag(of: $0)) }
        if noted.all.count < RowJudge.few { return }
        edits.upserted.reserveCapacity(noted.all.count)
        edits.reasons.reserveCapacity(noted.all.count)
        edits.unmoved.reserveCapacity(noted.all.count)
        origins.reserveCapacity(noted.all.count)
    }

    /// The changes of objects of the list's entity whose own values or relationships differ.
    var own: some Sequence<Change> { noted.all.lazy.filter(isOwn) }

    /// The place of an object's change, if it is of the list's entity and differs by itself.
    private func own(_ number: ObjectNumber) -> Int? {
        noted.index(of: number).flatMap { isOwn(noted.all[$0]) ? $0 : nil }
    }

    private func isOwn(_ change: Change) -> Bool {
        !change.changed.isEmpty && plan.compiled.includes(tag: change.object.tag)
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
        own(number).map { !plan.leavesPlace(noted.all[$0]) } ?? false
    }

    /// Whether an object matches; what can't be known does not.
    func matches(_ object: ObjectReference, _ row: Row) -> Bool {
        plan.compiled.matches(object, row, reader) ?? false
    }

    // MARK: Single rows

    /// Considers the noted changes of objects of the list's entity by what their own values say.
    mutating func considerOwn(_ stored: StoredRows) {
        let changes = noted.all
        for part in ownParts {
            for at in part { consider(changes, at, stored) }
        }
    }

    /// Considers the change at a place of all; a copy of it would count references.
    private mutating func consider(_ changes: [Change], _ at: Int, _ stored: StoredRows) {
        let (object, kind, changed) = (changes[at].object, changes[at].kind, changes[at].changed)
        // An object outside the list stays there if nothing that decides is different.
        if kind == .touch || plan.leavesPlace(kind, changed) {
            if !changed.isEmpty, stored.contains(object.number) { stay(object.number) }
            return
        }
        guard kind != .delete, let row = changes[at].row, matches(object, row) else {
            if stored.contains(object.number) { edits.removed.append(object.number) }
            return
        }
        consider(object, row, [], changed.isEmpty ? -1 : at, stored)
    }

    /// Considers a row that reaches something that changed.
    mutating func considerAffected(_ object: ObjectReference, _ stored: StoredRows) {
        guard case .row(let row) = reader.row(of: object) else { return }
        consider(object, row, isRefreshed(object) ? .refreshPath : [], stored)
    }

    /// Considers an object that matches with this row, or does not match.
    mutating func consider(
        _ object: ObjectReference, _ row: Row?, _ reason: ChangeReason, _ stored: StoredRows
    ) {
        guard let row else {
            if stored.contains(object.number) { edits.removed.append(object.number) }
            return
        }
        consider(object, row, reason, own(object.number) ?? -1, stored)
    }

    private mutating func consider(
        _ object: ObjectReference, _ row: Row, _ reason: ChangeReason, _ origin: Int,
        _ stored: StoredRows
    ) {
        guard let new = resultRow(object, row) else {
            if stored.contains(object.number) { edits.removed.append(object.number) }
            return
        }
        var reason = reason
        if origin >= 0 { reason.insert(.ownValues) }
        if let difference = stored.difference(of: new) {
            reason.formUnion(difference)
            if reason.isEmpty { return }
        } else if origin < 0 {
            reason.insert(.predicatePath)
        }
        edits.upserted.append(new)
        edits.reasons[object.number] = reason
        origins.append(origin)
    }

    /// Notes a row that changed and stays as it is.
    private mutating func stay(_ number: ObjectNumber) {
        edits.unmoved.append(number)
        edits.reasons[number] = .ownValues
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
        place(of: object, row).map { place in
            ResultRow(
                number: object.number, entityTag: object.tag, sortKey: place.key,
                section: place.section)
        }
    }

    private func place(
        of object: ObjectReference, _ row: Row
    ) -> (key: [UInt8], section: String)? {
        guard let keys else {
            guard let key = plan.compiled.sortKey(object, row, reader),
                case .known(let section) = plan.compiled.section(object, row, reader)
            else { return nil }
            return (key, section)
        }
        return row.withView { keys.place(of: object, $0, reader) }.map { place in
            let prefix = keys.prefixes[Int(place.group)]
            let key = prefix.isEmpty ? keys.rest.bytes : prefix + keys.rest.bytes
            return (key, keys.sections[Int(place.section)])
        }
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
        if news.isEmpty { return cached }
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
