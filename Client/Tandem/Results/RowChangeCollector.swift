import TandemModel
import TandemQuery
import TandemResults
import TandemWire

/// Collects the effects of a group on individual rows.
struct RowChangeCollector {
    let plan: ResultsPlan
    var reader: GroupReader { didSet { keys?.forgetRelated() } }
    /// The changes of the current group, including changes to objects of other entities.
    private var recorded = ChangeTable.empty
    /// The key prefixes and sections of related objects, cached for the current reader; nil if
    /// there are few rows.
    private let keys: GroupedKeys?
    /// The ranges of recorded changes that affect objects of the list's entity.
    private(set) var ownParts: [Range<Int>] = []
    private(set) var edits = ListEdits()
    /// For each row in `edits.upserted`, the index of its own recorded change; negative if there is
    /// none.
    private(set) var origins: [Int] = []

    /// Creates a collector for approximately `rows` rows.
    init(plan: ResultsPlan, reader: GroupReader, rows: Int = .max) {
        self.plan = plan
        self.reader = reader
        keys =
            rows < RowChangeCollector.minimumForCaching
            ? nil : GroupedKeys(of: plan.compiled, sections: true)
    }

    /// The number of rows below which related values are not cached, because that would cost more.
    private static let minimumForCaching = 8

    /// Computes the effect of a group on the stored rows, using the daemon's verdicts or the
    /// client's rows and links.
    init(
        deciding group: MergedGroup, _ verdicts: [Verdict]?, _ plan: ResultsPlan,
        _ stored: StoredRows, _ links: ResultsLinks?, _ source: ManagedObjectContext
    ) {
        self.init(
            plan: plan, reader: GroupReader(source, group.table), rows: group.changes.count)
        record(group)
        if let verdicts {
            evaluate(verdicts, stored)
            return
        }
        evaluateOwn(stored)
        let related = plan.concerningRelated(group.table)
        guard let links, !related.isEmpty else { return }
        for number in links.affected(by: related).sorted() where !isDecided(number) {
            if let reference = stored.reference(number) { evaluateAffected(reference, stored) }
        }
    }

    /// Records a group, and finds the changes to objects of the list's entity.
    mutating func record(_ group: MergedGroup) {
        recorded = group.table
        ownParts = recorded.parts.filter { plan.compiled.includes(tag: recorded.tag(of: $0)) }
        if recorded.all.count < RowChangeCollector.minimumForCaching { return }
        edits.upserted.reserveCapacity(recorded.all.count)
        edits.reasons.reserveCapacity(recorded.all.count)
        edits.unmoved.reserveCapacity(recorded.all.count)
        origins.reserveCapacity(recorded.all.count)
    }

    /// The changes to objects of the list's entity whose own values or relationships differ.
    var own: some Sequence<Change> { recorded.all.lazy.filter(isOwn) }

    /// Returns the index of an object's change, if its entity is listed and its own values or
    /// relationships differ.
    private func own(_ number: ObjectNumber) -> Int? {
        recorded.index(of: number).flatMap { isOwn(recorded.all[$0]) ? $0 : nil }
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

    /// Returns whether a row's own change has determined its placement, so that related objects
    /// need not be examined.
    private func isDecided(_ number: ObjectNumber) -> Bool {
        own(number).map { !plan.keepsPlacement(recorded.all[$0]) } ?? false
    }

    /// Returns whether an object matches the predicate; false if the client can't evaluate it.
    func matches(_ object: ObjectReference, _ row: Row) -> Bool {
        plan.compiled.matches(object, row, reader) ?? false
    }

    // MARK: Single rows

    /// Evaluates the objects for which the daemon gave verdicts.
    private mutating func evaluate(_ verdicts: [Verdict], _ stored: StoredRows) {
        reader.isAuthoritative = true
        reader.answered = Dictionary(
            verdicts.compactMap { verdict in verdict.row.map { (verdict.object.number, $0) } },
            uniquingKeysWith: { $1 })
        for verdict in verdicts where isReadable(verdict) {
            let (object, row) = (verdict.object, verdict.matches ? verdict.row : nil)
            let reason: ChangeReason = verdict.refreshed ? .refreshPath : []
            if let row {
                evaluate(object, row, reason, own(object.number) ?? -1, stored)
            } else {
                recordRemoval(object.number, stored)
            }
        }
    }

    /// Evaluates the recorded changes to objects of the list's entity by their own values.
    private mutating func evaluateOwn(_ stored: StoredRows) {
        let changes = recorded.all
        for part in ownParts {
            for at in part { evaluate(changes, at, stored) }
        }
    }

    /// Evaluates the change at an index; a copy of the change would cost reference counting.
    private mutating func evaluate(_ changes: [Change], _ at: Int, _ stored: StoredRows) {
        let (object, kind, changed) = (changes[at].object, changes[at].kind, changes[at].changed)
        // Membership stays the same if no property that affects it changed.
        if kind == .touch || plan.keepsPlacement(kind, changed) {
            if !changed.isEmpty, stored.contains(object.number) { recordUnmoved(object.number) }
            return
        }
        guard kind != .delete, let row = changes[at].row, matches(object, row) else {
            return recordRemoval(object.number, stored)
        }
        evaluate(object, row, [], changed.isEmpty ? -1 : at, stored)
    }

    /// Evaluates a row that refers to a changed object.
    private mutating func evaluateAffected(_ object: ObjectReference, _ stored: StoredRows) {
        guard case .row(let row) = reader.row(of: object) else { return }
        let reason: ChangeReason = isRefreshed(object) ? .refreshPath : []
        evaluate(object, row, reason, own(object.number) ?? -1, stored)
    }

    private mutating func evaluate(
        _ object: ObjectReference, _ row: Row, _ reason: ChangeReason, _ origin: Int,
        _ stored: StoredRows
    ) {
        guard let new = resultRow(object, row) else {
            return recordRemoval(object.number, stored)
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

    /// Records the removal of an object that no longer matches, if the object is in the list.
    private mutating func recordRemoval(_ number: ObjectNumber, _ stored: StoredRows) {
        if stored.contains(number) { edits.removed.append(number) }
    }

    /// Records a row that changed without moving.
    private mutating func recordUnmoved(_ number: ObjectNumber) {
        edits.unmoved.append(number)
        edits.reasons[number] = .ownValues
    }

    /// Returns whether a row shows values of other objects that have changed.
    func isRefreshed(_ object: ObjectReference) -> Bool {
        let earlier = EarlierReader(now: reader, model: plan.compiled.model)
        guard case .row(let before) = earlier.row(of: object),
            case .row(let now) = reader.row(of: object)
        else { return false }
        return plan.compiled.refreshValues(object, before, earlier)
            != plan.compiled.refreshValues(object, now, reader)
    }

    /// Returns the row's sort key and section; nil if the object does not belong to the list's
    /// entity.
    func resultRow(_ object: ObjectReference, _ row: Row) -> ResultRow? {
        placement(of: object, row).map { placement in
            ResultRow(
                number: object.number, entityTag: object.tag, sortKey: placement.key,
                section: placement.section)
        }
    }

    private func placement(
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
