import TandemIO
import TandemModel
import TandemQuery
import TandemResults

/// The context's unsaved edits as shown on top of a list, and the objects whose placement must be
/// computed again.
///
/// Edited objects are inserted, deleted and moved as in the result of a fetch, and so are rows
/// whose placement depends on the values of edited objects (``EditPlacement``).
///
/// An edited object is placed again in three cases:
/// - it was edited again, or an object on which its placement depends was edited,
/// - a merge changed it, or an object on which its placement depends,
/// - its placement could not be determined last time.
///
/// The cost of a change therefore depends on the objects it affects, not on the number of edited
/// objects.
struct EditOverlay {
    private let context: ManagedObjectContext
    /// Whether the list shows unsaved edits.
    var isEnabled = true {
        didSet { needsFullPlacement = needsFullPlacement || isEnabled != oldValue }
    }
    private(set) var entries: [ObjectNumber: OverlayEntry] = [:]
    /// The objects whose edits were added, dropped or changed since they were last applied, and
    /// objects that were loaded.
    private var touched: Set<ObjectReference> = []
    /// The edited objects on which the placement of other rows may depend.
    private var related: Set<ObjectNumber> = []
    /// Whether all objects must be placed again.
    private var needsFullPlacement = false
    /// The objects that keep their stored row, because an object that determines their placement is
    /// not loaded.
    private var undecided: Set<ObjectNumber> = []
    /// The objects with entries, indexed by the objects on which their placement depends.
    private var entriesByReachedObject = ReverseIndex()
    /// The number of times that merges and edits caused an edited object to be placed.
    private(set) var placementCount = 0

    init(_ context: ManagedObjectContext) { self.context = context }

    /// Whether edits that were added or dropped, or objects that were loaded, have not been applied
    /// yet.
    var isStale: Bool { needsFullPlacement || !touched.isEmpty }

    // MARK: Objects to place again

    mutating func touch(_ object: ObjectReference) { touched.insert(object) }

    /// Returns the objects to place again after a group; `edits` contains the group's changes to
    /// stored rows.
    private func candidates(_ group: MergedGroup?, _ edits: ListEdits, _ plan: ResultsPlan)
        -> Set<ObjectNumber>
    {
        if touched.isEmpty, entries.isEmpty, related.isEmpty { return [] }
        var found = undecided
        var reachesMembers = false
        for object in touched {
            found.insert(object.number)
            found.formUnion(entriesByReachedObject.rows(for: object.number))
            reachesMembers = reachesMembers || plan.watched[object.tag] != nil
        }
        if entries.isEmpty, related.isEmpty { return found }
        for change in group?.changes ?? [] {
            let number = change.object.number
            if entries[number] != nil { found.insert(number) }
            found.formUnion(entriesByReachedObject.rows(for: number))
            reachesMembers = reachesMembers || plan.watched[change.object.tag] != nil
        }
        for number in edits.removed where entries[number] != nil { found.insert(number) }
        // A new or changed row may refer to an edited object.
        for row in edits.upserted where entries[row.number] != nil || !related.isEmpty {
            found.insert(row.number)
        }
        for number in edits.unmoved where entries[number] != nil || !related.isEmpty {
            found.insert(number)
        }
        // There is no index from members to their owners.
        return plan.compiled.usesToMany && reachesMembers ? found.union(entries.keys) : found
    }

    // MARK: Entries

    /// Returns the overlay entries of all edited objects that the list may contain; their stored
    /// rows are not set yet.
    func makeEntries(for plan: ResultsPlan) -> [ObjectNumber: OverlayEntry] {
        let lineage = context.lineage
        var found: [ObjectNumber: OverlayEntry] = [:]
        for object in EditPlacement(context, plan).editedObjects {
            found[object.number] = makeEntry(for: object.number, plan, lineage)
        }
        return found
    }

    /// Returns the overlay entry of one object, or nil if it has no edits or the list can't contain
    /// it.
    private func makeEntry(
        for number: ObjectNumber, _ plan: ResultsPlan, _ lineage: [ManagedObjectContext]
    ) -> OverlayEntry? {
        guard isEnabled else { return nil }
        var layers: [ObjectRecord] = []
        for level in lineage.reversed() {
            guard let record = level.graph[number], record.hasEdits else { continue }
            layers.append(record)
        }
        guard let reference = layers.last?.reference, plan.compiled.includes(tag: reference.tag)
        else { return nil }
        return OverlayEntry(context.graph.record(reference), layers: layers)
    }

    /// Returns the stored row of an object, or nil if it is not known or does not match.
    func stored(_ number: ObjectNumber, _ rows: KnownRows) -> ResultRow? {
        if let entry = entries[number] { return entry.stored }
        return rows.row(number)
    }

    /// Returns the row of an edited object, or nil if the object is not in the list.
    ///
    /// An object that the client can't place keeps its stored row. If the object itself is not
    /// loaded, and it is already in the overlay, it keeps the row `shown`.
    private func place(
        _ entry: inout OverlayEntry, _ placement: EditPlacement, shown: ResultRow?, isShown: Bool
    ) -> ResultRow? {
        let place = placement.place(entry.record, isStored: entry.stored != nil)
        context.root.listUpdater.loadSoon(place.lacking)
        entry.reached = place.reached
        entry.isPlaced = place.isFinal
        entry.shows = place.shows
        return switch place.result {
        case .none: nil
        case .row(let row): row
        case .stored: entry.stored
        case .unloaded: isShown ? shown : entry.stored
        }
    }

    /// Replaces the entry of an object; nil removes it.
    private mutating func set(_ number: ObjectNumber, _ edits: OverlayEntry?) {
        for object in entries[number]?.reached ?? [] {
            entriesByReachedObject.remove(row: number, for: object)
        }
        entries[number] = edits
        for object in edits?.reached ?? [] {
            entriesByReachedObject.insert(row: number, for: object)
        }
        if edits?.isPlaced == false { undecided.insert(number) } else { undecided.remove(number) }
    }

    /// Asserts that the indexes of the entries agree with the entries.
    private func checkInvariants() {
        assert(undecided.count <= entries.count, "An object without an entry is not undecided.")
        guard Invariants.walk(entries.count) else { return }
        assert(
            undecided == Set(entries.lazy.filter { !$1.isPlaced }.map(\.key)),
            "The undecided objects are those that could not be placed.")
        assert(
            entries.allSatisfy { number, entry in
                entry.reached.allSatisfy { entriesByReachedObject.rows(for: $0).contains(number) }
            }, "Each object on which an entry depends leads to the entry.")
    }

    /// Clears the set of touched objects, all of which are about to be placed; objects touched
    /// later belong to the next step.
    private mutating func begin() {
        touched.removeAll()
        needsFullPlacement = false
    }

    // MARK: Stepping

    /// Applies the context's current edits on top of a group's changes to stored rows.
    ///
    /// `rows` contains the rows as shown before. Returns the edited objects that were examined,
    /// including objects whose edits were dropped.
    mutating func apply(
        over edits: inout ListEdits, _ plan: ResultsPlan, _ group: MergedGroup?,
        _ rows: KnownRows, _ links: ResultsLinks?, _ causes: inout ChangeCauses
    ) -> Set<ObjectNumber> {
        if entries.isEmpty, related.isEmpty, !isStale { return [] }
        var candidates = self.candidates(group, edits, plan)
        let (lineage, placement) = (context.lineage, EditPlacement(context, plan))
        if needsFullPlacement {
            candidates.formUnion(entries.keys)
            candidates.formUnion(placement.editedObjects.lazy.map(\.number))
        }
        candidates.formUnion(updateRelated(plan, placement, lineage, links, &causes))
        begin()
        var fresh: [ObjectNumber: OverlayEntry] = [:]
        let changed = edits.stored(of: candidates)
        for number in candidates {
            fresh[number] =
                makeEntry(for: number, plan, lineage)
                ?? makeEntry(
                    forUnedited: changed[number] ?? stored(number, rows), referringTo: related,
                    placement)
        }
        let concerned = candidates.filter { fresh[$0] != nil || entries[$0] != nil }
        if concerned.isEmpty { return [] }
        let changes = group?.changes(of: concerned) ?? [:]
        var next = edits.leavingOut(concerned)
        let reader = GroupReader(context.root, group?.table ?? .empty)
        for number in concerned.sorted() {
            let (below, shown) = (changed[number] ?? stored(number, rows), rows.row(number))
            var target = below
            if var edited = fresh[number] {
                edited.stored = below
                placementCount += 1
                target = place(&edited, placement, shown: shown, isShown: entries[number] != nil)
                fresh[number] = edited
            }
            let step = OverlayStep(
                before: entries[number], after: fresh[number], change: changes[number])
            guard let target else {
                if shown != nil {
                    next.removed.append(number)
                    causes.record(number, step)
                }
                continue
            }
            // Changes to the row's own links are detected below, by comparing the edits before and
            // after the step.
            var reason =
                plan.showsOwnLinksOnly
                ? [] : edits.reasons[number]?.intersection(.refreshPath) ?? []
            if plan.isPlacedByRelated, let differ = step.relatedValuesDiffer(plan, reader) {
                reason = differ ? .refreshPath : []
            }
            if let shown {
                reason.formUnion(RowChangeCollector.difference(shown, target))
                if step.isChange {
                    reason.insert(.ownValues)
                    causes.record(number, step)
                }
                if reason.isEmpty { continue }
            } else {
                reason.insert(.ownValues)
                causes.record(number, step)
            }
            next.upserted.append(target)
            next.reasons[number] = reason
        }
        for number in concerned { set(number, fresh[number]) }
        checkInvariants()
        edits = next
        return concerned
    }

    // MARK: Edits of related objects

    /// Returns the edited objects on which the placement of other rows may depend.
    func relatedEdits(_ plan: ResultsPlan) -> Set<ObjectNumber> {
        isEnabled ? EditPlacement(context, plan).relatedObjects : []
    }

    /// Updates the set of edited objects on which other rows may depend, and returns the rows that
    /// refer to one that was edited again.
    private mutating func updateRelated(
        _ plan: ResultsPlan, _ placement: EditPlacement, _ lineage: [ManagedObjectContext],
        _ links: ResultsLinks?, _ causes: inout ChangeCauses
    ) -> Set<ObjectNumber> {
        guard placement.movesReferringRows else { return [] }
        var changed = touched.filter { plan.watched[$0.tag] != nil }
        if needsFullPlacement {
            related = isEnabled ? placement.relatedObjects : []
        } else {
            for object in changed {
                let wasEdited = related.contains(object.number)
                let isEdited = lineage.contains {
                    $0.graph[object.number].map(placement.isRelated) ?? false
                }
                if isEnabled, isEdited {
                    related.insert(object.number)
                } else {
                    related.remove(object.number)
                    if !wasEdited { changed.remove(object) }
                }
            }
            if changed.isEmpty { return [] }
        }
        causes.record(
            changed.compactMap { object in
                plan.watched[object.tag].map { Change(.update, object, changed: $0) }
            }, plan)
        let numbers = needsFullPlacement ? related : Set(changed.map(\.number))
        return related.intersection(numbers).reduce(into: []) { rows, object in
            rows.formUnion(links?.rows(reaching: object) ?? [])
        }
    }

    /// Returns an overlay entry for a row that is not edited itself, but refers to an edited
    /// object; nil for any other row.
    private func makeEntry(
        forUnedited row: ResultRow?, referringTo related: Set<ObjectNumber>,
        _ placement: EditPlacement
    ) -> OverlayEntry? {
        guard let row, !related.isEmpty else { return nil }
        let record = context.graph.record(ObjectReference(tag: row.entityTag, number: row.number))
        return placement.refers(record, to: related) ? OverlayEntry(record, layers: []) : nil
    }

    // MARK: Fetched lists

    /// Returns the rows of an answer with the context's edits applied, and these edits.
    ///
    /// `related` contains the edited objects on which other rows may depend; if there are any, the
    /// context must hold the rows.
    func rowsWithEdits(
        over rows: [ResultRow], _ related: Set<ObjectNumber>, _ plan: ResultsPlan
    ) -> EditedRows {
        var entries: [ObjectNumber: OverlayEntry] = [:]
        let placement = EditPlacement(context, plan)
        for row in rows where !related.isEmpty {
            entries[row.number] = makeEntry(forUnedited: row, referringTo: related, placement)
        }
        entries.merge(makeEntries(for: plan)) { $1 }
        if entries.isEmpty { return EditedRows(rows: rows) }
        for row in rows { entries[row.number]?.stored = row }
        var edits = ListEdits()
        for (number, var entry) in entries {
            let target = place(&entry, placement, shown: nil, isShown: false)
            entries[number] = entry
            if let target {
                edits.upserted.append(target)
            } else {
                edits.removed.append(number)
            }
        }
        return EditedRows(
            rows: rows.filter { entries[$0.number] == nil } + edits.upserted, edits: edits,
            entries: entries)
    }

    /// Replaces all entries, for a list that was fetched.
    mutating func replace(by rows: EditedRows, related: Set<ObjectNumber>) {
        begin()
        self.related = related
        (entries, entriesByReachedObject, undecided) = ([:], ReverseIndex(), [])
        for (number, entry) in rows.entries { set(number, entry) }
    }

    /// Corrects the reasons for changes to edited rows after the list was fetched.
    ///
    /// An edit that the list already showed is not reported again as a change to the row's own
    /// values.
    func correct(
        _ reasons: inout [ObjectNumber: ChangeReason], _ rows: EditedRows, _ group: MergedGroup
    ) {
        let concerned = Set(entries.keys).union(rows.entries.keys)
        if concerned.isEmpty { return }
        let changes = group.changes(of: concerned)
        for number in concerned {
            let step = OverlayStep(
                before: entries[number], after: rows.entries[number], change: changes[number])
            if step.isChange {
                reasons[number, default: []].insert(.ownValues)
            } else {
                // The values of other objects that the row shows may still differ.
                let reached = reasons[number]?.intersection([.refreshPath, .sortPath, .sectionPath])
                reasons[number] = reached?.isEmpty == true ? nil : reached
            }
        }
    }
}

extension EditPlacement {
    fileprivate init(_ context: ManagedObjectContext, _ plan: ResultsPlan) {
        self.init(context, plan.compiled, watched: plan.isPlacedByRelated ? plan.watched : [:])
    }
}

/// The rows of an answer with the context's edits applied.
struct EditedRows {
    var rows: [ResultRow]
    /// The edits that were applied.
    var edits = ListEdits()
    var entries: [ObjectNumber: OverlayEntry] = [:]
}

extension ChangeCauses {
    /// Records the slots changed by edits to an object, before and after a step.
    fileprivate mutating func record(_ number: ObjectNumber, _ step: OverlayStep) {
        for edits in [step.before?.edits, step.after?.edits] {
            if let edits { record(number, edits.mask) }
        }
    }
}

extension ListEdits {
    var isEmpty: Bool { removed.isEmpty && upserted.isEmpty && unmoved.isEmpty }

    /// Returns the new rows of the given objects, with nil for a removed row; an unaffected row has
    /// no entry.
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
    /// Returns the net changes to the objects with these numbers.
    func changes(of numbers: some Collection<ObjectNumber>) -> [ObjectNumber: Change] {
        var found: [ObjectNumber: Change] = [:]
        let numbers = Set(numbers)
        for change in changes where numbers.contains(change.object.number) {
            found[change.object.number] = change
        }
        return found
    }
}
