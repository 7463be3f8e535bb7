import TandemModel
import TandemQuery
import TandemWire

/// The compiled request of a list, which determines how a merge evaluates its rows and which
/// changes affect the list.
///
/// Immutable, and shared by reference.
final class ResultsPlan: Sendable {
    /// The data that a merge needs to update rows.
    enum Mode {
        /// The rows' own values suffice; the daemon is asked only about strings that are too long
        /// for their rows.
        case own
        /// Rows are ordered, sectioned or refreshed through to-one key paths; the context holds the
        /// reached objects.
        case related
        /// Membership depends on other objects, or to-many relationships are used; the daemon
        /// evaluates the rows.
        case verdicts
    }

    let request: FetchDescriptor
    let compiled: CompiledRequest
    let sectionKeyPath: String?
    /// The key paths through which rows show values of other objects.
    let refreshKeyPaths: [String]
    let mode: Mode
    /// The slots of a row at which observed paths begin.
    let ownSlots: PropertyMask
    /// The slots of related objects that paths read, by entity.
    let watched: [EntityTag: PropertyMask]
    /// The entities whose transactions the list needs.
    let interests: [EntityTag]
    /// The to-one key paths whose objects are fetched together with the rows.
    let relatedPaths: [[String]]

    /// Compiles a request for a model.
    ///
    /// Throws ``TandemError`` with `noSortDescriptors`, `unknownEntity`, `unknownProperty` or
    /// `invalidPredicate`.
    init(
        _ request: FetchDescriptor, sectionKeyPath: String?, refreshKeyPaths: [String],
        in model: CompiledModel
    ) throws(TandemError) {
        try ResultsPlan.check(request)
        // Rows are assumed to show the values at the key paths of the sort order and the sections.
        // If such a value changes, the row is reported even if its position and section stay the
        // same.
        let keyPaths = request.sort.map(\.keyPath) + [sectionKeyPath].compactMap { $0 }
        let reached = keyPaths.filter { $0.utf8.contains(UInt8(ascii: ".")) }
        let refresh = refreshKeyPaths + reached.filter { !refreshKeyPaths.contains($0) }
        compiled = try CompiledRequest(
            request, sectionKeyPath: sectionKeyPath, refreshKeyPaths: refresh, in: model)
        self.request = request
        self.sectionKeyPath = sectionKeyPath
        self.refreshKeyPaths = refreshKeyPaths
        if compiled.predicateUsesRelated || compiled.usesToMany {
            mode = .verdicts
        } else {
            mode = compiled.paths.allSatisfy { $0.hops.isEmpty || $0.staysInRow } ? .own : .related
        }
        ownSlots = PropertyMask(
            compiled.paths.compactMap { $0.hops.first?.slot ?? $0.final?.slot })
        watched = compiled.watched
        interests = compiled.interests
        relatedPaths = compiled.relatedPaths(everything: mode == .related)
    }

    /// Creates a copy with a different mode.
    private init(_ other: ResultsPlan, _ mode: Mode) {
        request = other.request
        compiled = other.compiled
        sectionKeyPath = other.sectionKeyPath
        refreshKeyPaths = other.refreshKeyPaths
        self.mode = mode
        ownSlots = other.ownSlots
        watched = other.watched
        interests = other.interests
        relatedPaths = other.relatedPaths
    }

    /// Returns the same plan for a different model.
    func renewed(in model: CompiledModel) throws(TandemError) -> ResultsPlan {
        try ResultsPlan(
            request, sectionKeyPath: sectionKeyPath, refreshKeyPaths: refreshKeyPaths, in: model)
    }

    static func check(_ request: FetchDescriptor) throws(TandemError) {
        guard !request.sort.isEmpty else {
            throw TandemError(
                .noSortDescriptors,
                "a results controller over \(request.entity) needs at least one sort key")
        }
    }

    /// Whether an edit to an object causes the rows that refer to it to be placed again.
    ///
    /// The context must hold these objects.
    var isPlacedByRelated: Bool { mode == .related && compiled.isPlacedByRelated }

    /// Whether rows depend only on the identities of other objects, not on their values.
    var showsOwnLinksOnly: Bool {
        compiled.paths.allSatisfy { path in
            path.usage.isDisjoint(with: [.refresh, .sort, .section])
                || path.hops.count + (path.final == nil ? 0 : 1) <= 1
        }
    }

    /// The query for verdicts; nil if none are ever needed.
    ///
    /// The query has no limit or offset, because the client selects the rows to show from the
    /// matching rows.
    var verdictItem: VerdictItem? {
        mode != .own || compiled.predicateReadsTexts ? rowQuery : nil
    }

    /// The query for the rows that changed since a position.
    var rowQuery: VerdictItem {
        VerdictItem(
            request: unlimited, sectionKeyPath: sectionKeyPath,
            refreshKeyPaths: compiled.refreshKeyPaths)
    }

    /// The plan that replaces this one if the context does not hold the list's related objects.
    var evaluatedByDaemon: ResultsPlan {
        mode == .related ? ResultsPlan(self, .verdicts) : self
    }

    /// The number of rows that must be known, counted from the first row; nil for all.
    var neededRows: Int? {
        request.limit.map { limit in
            let (sum, overflow) = max(0, limit).addingReportingOverflow(max(0, request.offset))
            return overflow ? .max : sum
        }
    }

    /// Whether the list shows only a part of the matching rows.
    var isWindow: Bool { request.limit != nil || request.offset > 0 }

    /// The request without limit and offset, which the daemon uses to evaluate rows.
    var unlimited: FetchDescriptor {
        var request = request
        request.limit = nil
        request.offset = 0
        return request
    }

    /// Returns the fetch that opens or refills the list, with `slack` rows beyond the window.
    func fetch(slack: Int) -> Fetch {
        var request = request
        request.offset = 0
        request.limit = neededRows.map { neededRows in
            let (sum, overflow) = neededRows.addingReportingOverflow(slack)
            return overflow ? .max : sum
        }
        return Fetch(
            request: request, kind: .rows, related: relatedPaths, interests: interests, at: 0)
    }

    /// Returns the fetch for opening a list; it includes the values of the rows only if there are
    /// at most `rowsUpTo`.
    func openingFetch(_ fetch: Fetch, rowsUpTo: Int) -> Fetch {
        Fetch(
            request: fetch.request, related: fetch.related, interests: fetch.interests,
            at: fetch.at,
            list: ListDetails(
                sectionKeyPath: sectionKeyPath, refreshKeyPaths: compiled.refreshKeyPaths,
                hops: ResultsLinks(self, pinsRows: false).paths(in: compiled),
                rowsUpTo: UInt32(clamping: rowsUpTo)))
    }

    /// Returns whether a fetch has this plan's request, ignoring the values of limit and offset.
    func matches(_ fetch: Fetch) -> Bool {
        var asked = fetch.request
        (asked.limit, asked.offset) = (nil, 0)
        return asked == unlimited && (fetch.request.limit == nil) == (neededRows == nil)
            && fetch.related == relatedPaths
            && (fetch.list == nil || fetch.list?.isOf(self) == true)
    }

    /// Returns whether a change to a related object may affect the list.
    func concernsRelated(_ change: Change) -> Bool {
        guard let mask = watched[change.object.tag] else { return false }
        switch change.kind {
        case .insert: return false
        case .delete: return true
        case .update, .touch: return !mask.intersection(change.changed).isEmpty
        }
    }

    /// Returns the changes to related objects that may affect the list.
    func concerningRelated(_ table: ChangeTable) -> [Change] {
        if watched.isEmpty { return [] }
        var found: [Change] = []
        for part in table.parts where watched[table.tag(of: part)] != nil {
            for at in part where concernsRelated(table.all[at]) { found.append(table.all[at]) }
        }
        return found
    }

    /// Returns whether a change to an object of the list's entity can't affect membership, position
    /// or section.
    func keepsPlacement(_ change: Change) -> Bool {
        keepsPlacement(change.kind, change.changed)
    }

    /// Returns whether a change of this kind, to these properties, can't affect membership,
    /// position or section.
    func keepsPlacement(_ kind: Change.Kind, _ changed: PropertyMask) -> Bool {
        (kind == .update || kind == .touch) && ownSlots.intersection(changed).isEmpty
    }

    /// Returns whether a change may affect the list, as a change to a row or to a related object.
    func concerns(_ change: Change) -> Bool {
        if concernsRelated(change) { return true }
        return compiled.includes(tag: change.object.tag) && !keepsPlacement(change)
    }

    /// Returns whether a row fits the model.
    func canRead(_ object: StoredObject) -> Bool {
        compiled.model.entity(tagged: object.object.tag).map(object.row.isValid) ?? false
    }

    /// Returns whether the predicate depends on a string that is too long for the row of a changed
    /// object.
    func dependsOnTexts(_ changes: [Change], _ reader: GroupReader) -> Bool {
        guard compiled.predicateReadsTexts else { return false }
        return changes.contains { change in
            guard compiled.includes(tag: change.object.tag), !keepsPlacement(change),
                let row = change.row,
                let entity = compiled.model.entity(tagged: change.object.tag),
                row.hasBlobs(in: entity)
            else { return false }
            return compiled.matches(change.object, row, reader) == nil
        }
    }
}

extension ListDetails {
    /// Returns whether a requested list has the same sections and refresh key paths as the plan.
    fileprivate func isOf(_ plan: ResultsPlan) -> Bool {
        sectionKeyPath == plan.sectionKeyPath && refreshKeyPaths == plan.compiled.refreshKeyPaths
    }
}
