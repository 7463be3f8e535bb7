import TandemModel
import TandemQuery
import TandemResults
import TandemWire

/// Collects the effect of a group on single rows.
struct RowChangeCollector {
    let plan: ResultsPlan
    var reader: GroupReader { didSet { keys?.forgetRelated() } }
    /// The changes of the current group, including those of other entities.
    private var noted = ChangeTable.empty
    /// The key prefixes and sections of related objects, cached for the current reader; nil if
    /// there are few rows.
    private let keys: GroupedKeys?
    /// The ranges of the recorded changes with objects of the list's entity.
    private(set) var ownParts: [Range<Int>] = []
    private(set) var edits = ListEdits()
    /// For each row in `edits.upserted`, the index of its own recorded change; negative if there is
    /// none.
    private(set) var origins: [Int] = []

    /// Creates a collector for approximately `rows` rows.
    init(plan: ResultsPlan, reader: GroupReader, rows: Int = .max) {
        self.plan = plan
        self.reader = reader
        keys = rows < RowChangeCollector.few ? nil : GroupedKeys(of: plan.compiled, sections: true)
    }

    /// The number of rows below which related values are not cached, because that would cost more.
    private static let few = 8

    /// Computes the effect of a group on the stored rows, using the daemon's verdicts or the
    /// client's rows and links.
    init(
        deciding group: MergedGroup, _ verdicts: [Verdict]?, _ plan: ResultsPlan,
        _ stored: StoredRows, _ links: ResultsLinks?, _ source: ManagedObjectContext
    ) {
        self.init(
            plan: plan, reader: GroupReader(source, group.table), rows: group.changes.count)
        note(group)
        if let verdicts {
            consider(verdicts, stored)
            return
        }
        considerOwn(stored)
        let related = plan.concerningRelated(group.table)
        guard let links, !related.isEmpty else { return }
        for number in links.affected(by: related).sorted() where !hasConsidered(number) {
            if let reference = stored.reference(number) { considerAffected(reference, stored) }
        }
    }

    /// Records a group, and finds the changes of objects of the list's entity.
    mutating func note(_ group: MergedGroup) {
        noted = group.table
        ownParts = noted.parts.filter { plan.compiled.includes(tag: noted.tag(of: $0)) }
        if noted.all.count < RowChangeCollector.few { return }
        edits.upserted.reserveCapacity(noted.all.count)
        edits.reasons.reserveCapacity(noted.all.count)
        edits.unmoved.reserveCapacity(noted.all.count)
        origins.reserveCapacity(noted.all.count)
    }

    /// The changes of objects of the list's entity whose own values or relationships differ.
    var own: some Sequence<Change> { noted.all.lazy.filter(isOwn) }

    /// Returns the index of an object's change, if its entity is listed and its own values or
    /// relationships differ.
    private func own(_ number: ObjectNumber) -> Int? {
        noted.index(of: number).flatMap { isOwn(noted.all[$0]) ? $0 : nil }
    }

    private func isOwn(_ change: Change) -> Bool {
        !change.changed.isEmpty && plan.compiled.includes(tag: change.object.tag)
    }

    /// Returns whether a verdict is about a row of the list's entity that can be read.
    func isReadable(_ verdict: Verdict) -> Bool {
        guard plan.compiled.includes(tag: verdict.object.tag),
            let entity = plan.compiled.model.entity(tagged: verdict.object.tag)
        else { return false }
        return verdict.row.map { $0.isValid(for: entity) } ?? true
    }

    /// Returns whether a row's own change has decided its placement, so that related objects need
    /// not be examined.
    private func hasConsidered(_ number: ObjectNumber) -> Bool {
        own(number).map { !plan.leavesPlace(noted.all[$0]) } ?? false
    }

    /// Returns whether an object matches the predicate; false if it can't be evaluated here.
    func matches(_ object: ObjectReference, _ row: Row) -> Bool {
        plan.compiled.matches(object, row, reader) ?? false
    }

    // MARK: Single rows

    /// Evaluates the objects for which the daemon gave verdicts.
    private mutating func consider(_ verdicts: [Verdict], _ stored: StoredRows) {
        reader.isAuthoritative = true
        reader.answered = Dictionary(
            verdicts.compactMap { verdict in verdict.row.map { (verdict.object.number, $0) } },
            uniquingKeysWith: { $1 })
        for verdict in verdicts where isReadable(verdict) {
            let (object, row) = (verdict.object, verdict.matches ? verdict.row : nil)
            let reason: ChangeReason = verdict.refreshed ? .refreshPath : []
            if let row {
                consider(object, row, reason, own(object.number) ?? -1, stored)
            } else {
                leave(object.number, stored)
            }
        }
    }

    /// Evaluates the recorded changes of objects of the list's entity by their own values.
    private mutating func considerOwn(_ stored: StoredRows) {
        let changes = noted.all
        for part in ownParts {
            for at in part { consider(changes, at, stored) }
        }
    }

    /// Evaluates the change at an index; a copy of the change would cost reference counting.
    private mutating func consider(_ changes: [Change], _ at: Int, _ stored: StoredRows) {
        let (object, kind, changed) = (changes[at].object, changes[at].kind, changes[at].changed)
        // Membership stays the same if no property that affects it changed.
        if kind == .touch || plan.leavesPlace(kind, changed) {
            if !changed.isEmpty, stored.contains(object.number) { stay(object.number) }
            return
        }
        guard kind != .delete, let row = changes[at].row, matches(object, row) else {
            return leave(object.number, stored)
        }
        consider(object, row, [], changed.isEmpty ? -1 : at, stored)
    }

    /// Evaluates a row that refers to a changed object.
    private mutating func considerAffected(_ object: ObjectReference, _ stored: StoredRows) {
        guard case .row(let row) = reader.row(of: object) else { return }
        let reason: ChangeReason = isRefreshed(object) ? .refreshPath : []
        consider(object, row, reason, own(object.number) ?? -1, stored)
    }

    private mutating func consider(
        _ object: ObjectReference, _ row: Row, _ reason: ChangeReason, _ origin: Int,
        _ stored: StoredRows
    ) {
        guard let new = resultRow(object, row) else {
            return leave(object.number, stored)
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

    /// Records the removal of an object that does not match, if it is a row.
    private mutating func leave(_ number: ObjectNumber, _ stored: StoredRows) {
        if stored.contains(number) { edits.removed.append(number) }
    }

    /// Records a row that changed without moving.
    private mutating func stay(_ number: ObjectNumber) {
        edits.unmoved.append(number)
        edits.reasons[number] = .ownValues
    }

    /// Returns whether the values of other objects that a row shows have changed.
    func isRefreshed(_ object: ObjectReference) -> Bool {
        let earlier = EarlierReader(now: reader, model: plan.compiled.model)
        guard case .row(let before) = earlier.row(of: object),
            case .row(let now) = reader.row(of: object)
        else { return false }
        return plan.compiled.refreshValues(object, before, earlier)
            != plan.compiled.refreshValues(object, now, reader)
    }

    /// Returns the row's sort key and section; nil if the object is not of the list's entity.
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
        return row.withView { keys.placement(of: object, $0, reader) }.map { placement in
            let prefix = keys.prefixes[Int(placement.group)]
            let key = prefix.isEmpty ? keys.rest.bytes : prefix + keys.rest.bytes
            return (key, keys.sections[Int(placement.section)])
        }
    }

    static func difference(_ old: ResultRow, _ new: ResultRow) -> ChangeReason {
        var reason: ChangeReason = []
        if old.sortKey != new.sortKey { reason.insert(.sortPath) }
        if old.section != new.section { reason.insert(.sectionPath) }
        return reason
    }

    /// Returns the last row of an answer, with its key at the answer's position.
    func edge(of answer: FetchAnswer) -> ResultRow? {
        guard let last = answer.objects.last else { return nil }
        let stored = (answer.related + [last]).map { ($0.object.number, $0.row) }
        let reader = AnswerReader(rows: Dictionary(stored, uniquingKeysWith: { $1 }))
        guard let key = plan.compiled.sortKey(last.object, last.row, reader) else { return nil }
        return ResultRow(
            number: last.object.number, entityTag: last.object.tag, sortKey: key, section: "")
    }
}
