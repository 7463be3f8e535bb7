import TandemModel
import TandemQuery
import TandemWire

/// What a request means for stepping: who decides what, and which changes concern it at all.
///
/// Immutable, and one reference for all who step over a list with it.
final class ResultsPlan: Sendable {
    /// What it takes to follow a merge.
    enum Mode {
        /// Own values decide everything; the daemon is asked only about texts that are too long for their rows.
        case own
        /// To-one key paths order, section or refresh rows; the context holds what they lead to.
        case related
        /// Who is in the list depends on other objects, or collections are involved: the daemon judges.
        case verdicts
    }

    let request: FetchRequest
    let compiled: CompiledRequest
    let sectionKeyPath: String?
    /// The key paths through which rows show values of other objects.
    let refreshKeyPaths: [String]
    let mode: Mode
    /// The slots of the row itself that any observed path begins with.
    let ownSlots: PropertyMask
    /// For objects reached by a path: the slots that the path goes on with.
    let watched: [EntityTag: PropertyMask]
    /// The entities whose transactions the list needs.
    let interests: [EntityTag]
    /// The to-one key paths whose objects come with the rows.
    let relatedPaths: [[String]]

    /// Checks a request against a model.
    ///
    /// Throws ``TandemError`` with `noSortDescriptors`, `unknownEntity`, `unknownProperty` or `invalidPredicate`.
    init(
        _ request: FetchRequest, sectionKeyPath: String?, refreshKeyPaths: [String],
        in model: CompiledModel
    ) throws(TandemError) {
        try ResultsPlan.check(request)
        // Key paths of order and section count as shown: a row whose value there differs is reported even if
        // its place and section stay.
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
        watched = ResultsPlan.watched(compiled)
        interests = ResultsPlan.interests(compiled)
        relatedPaths = ResultsPlan.relatedPaths(compiled, everything: mode == .related)
    }

    /// The same with another mode.
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

    static func check(_ request: FetchRequest) throws(TandemError) {
        guard !request.sort.isEmpty else {
            throw TandemError(
                .noSortDescriptors,
                "a results controller over \(request.entity) needs at least one sort key")
        }
    }

    /// Whether a row's place follows edits of what it reaches: where the context holds that, and nothing else decides who is in.
    ///
    /// With a limit nobody here can tell who would come in.
    var placesByRelated: Bool { mode == .related && request.limit == nil }

    /// Whether rows show nothing of other objects but which ones they are linked to.
    var showsOwnLinksOnly: Bool {
        compiled.paths.allSatisfy { path in
            path.usage.isDisjoint(with: [.refresh, .sort, .section])
                || path.hops.count + (path.final == nil ? 0 : 1) <= 1
        }
    }

    /// The item by which the daemon is asked for verdicts; nil when that never happens.
    ///
    /// Limit and offset play no part in it: they are cut out of the matching rows here.
    var verdictItem: VerdictItem? {
        guard mode != .own || compiled.predicateReadsTexts else { return nil }
        return VerdictItem(
            request: unlimited, sectionKeyPath: sectionKeyPath,
            refreshKeyPaths: compiled.refreshKeyPaths)
    }

    /// The same for a list whose related objects are not held.
    var judgedByDaemon: ResultsPlan {
        mode == .related ? ResultsPlan(self, .verdicts) : self
    }

    /// How many rows from the first on have to be known; nil for all.
    var needed: Int? {
        request.limit.map { limit in
            let (sum, overflow) = max(0, limit).addingReportingOverflow(max(0, request.offset))
            return overflow ? .max : sum
        }
    }

    /// Whether only a part of the matching rows is shown.
    var isWindow: Bool { request.limit != nil || request.offset > 0 }

    /// The request without limit and offset, as the daemon judges rows.
    var unlimited: FetchRequest {
        var request = request
        request.limit = nil
        request.offset = 0
        return request
    }

    /// The fetch that opens or refills the list, with some rows beyond the window.
    func fetch(slack: Int) -> Fetch {
        var request = request
        request.offset = 0
        request.limit = needed.map { needed in
            let (sum, overflow) = needed.addingReportingOverflow(slack)
            return overflow ? .max : sum
        }
        return Fetch(
            request: request, kind: .rows, related: relatedPaths, interests: interests, at: 0)
    }

    /// The same fetch for a list that is opened, of which the rows' values are wanted only if there are at most so many.
    func opening(_ fetch: Fetch, rowsUpTo: Int) -> Fetch {
        Fetch(
            request: fetch.request, related: fetch.related, interests: fetch.interests,
            at: fetch.at,
            list: ListDetails(
                sectionKeyPath: sectionKeyPath, refreshKeyPaths: compiled.refreshKeyPaths,
                hops: ResultsLinks(self, pinsRows: false).paths(in: compiled),
                rowsUpTo: UInt32(clamping: rowsUpTo)))
    }

    /// Whether a fetch is of this plan's request, however many rows it asks for.
    func isAsked(by fetch: Fetch) -> Bool {
        var asked = fetch.request
        (asked.limit, asked.offset) = (nil, 0)
        return asked == unlimited && (fetch.request.limit == nil) == (needed == nil)
            && fetch.related == relatedPaths
            && (fetch.list == nil || fetch.list?.isOf(self) == true)
    }

    /// Whether a change of an object reached by a path can matter.
    func concernsRelated(_ change: Change) -> Bool {
        guard let mask = watched[change.object.tag] else { return false }
        switch change.kind {
        case .insert: return false
        case .delete: return true
        case .update, .touch: return !mask.intersection(change.changed).isEmpty
        }
    }

    /// The changes of objects reached by a path that can matter.
    func concerningRelated(_ table: ChangeTable) -> [Change] {
        if watched.isEmpty { return [] }
        var found: [Change] = []
        for part in table.parts where watched[table.tag(of: part)] != nil {
            for at in part where concernsRelated(table.all[at]) { found.append(table.all[at]) }
        }
        return found
    }

    /// Whether edits of an object reached by a path can matter.
    static func concerns(_ edited: ObjectRecord, _ watched: [EntityTag: PropertyMask]) -> Bool {
        guard let mask = watched[edited.reference.tag] else { return false }
        return [edited.inFlight, edited.pending].contains {
            $0.kind == .delete || !mask.intersection($0.mask).isEmpty
        }
    }

    /// Whether a change of an object that may be a row leaves membership, place and section alone.
    func leavesPlace(_ change: Change) -> Bool {
        leavesPlace(change.kind, change.changed)
    }

    /// Whether a change of this kind and these properties does.
    func leavesPlace(_ kind: Change.Kind, _ changed: PropertyMask) -> Bool {
        (kind == .update || kind == .touch) && ownSlots.intersection(changed).isEmpty
    }

    // MARK: Facts

    static func watched(_ compiled: CompiledRequest) -> [EntityTag: PropertyMask] {
        var watched: [EntityTag: PropertyMask] = [:]
        func watch(_ tag: EntityTag, _ slot: Int?) {
            guard let entity = compiled.model.entity(tagged: tag) else { return }
            for tag in entity.descendants + [entity.tag] {
                watched[tag, default: PropertyMask()].formUnion(slot)
            }
        }
        for path in compiled.paths {
            for (hop, next) in zip(path.hops, path.hops.dropFirst()) {
                watch(hop.destination, next.slot)
            }
            guard let last = path.hops.last else { continue }
            if path.final != nil || !path.staysInRow { watch(last.destination, path.final?.slot) }
        }
        return watched
    }

    /// The entities that a request's paths lead through, and those of its objects.
    static func interests(_ compiled: CompiledRequest) -> [EntityTag] {
        let ends = compiled.paths.flatMap(\.hops).map(\.destination) + [compiled.entity.tag]
        let families = ends.compactMap { compiled.model.entity(tagged: $0) }
            .flatMap { $0.descendants + [$0.tag] }
        return Set(families).sorted()
    }

    /// The to-one beginnings of paths that order or section; of all paths if everything is wanted.
    static func relatedPaths(
        _ compiled: CompiledRequest, everything: Bool
    ) -> [[String]] {
        let paths = compiled.paths.filter { path in
            !path.staysInRow && (everything || !path.usage.isDisjoint(with: [.sort, .section]))
        }
        let names = paths.map { path in
            path.hops.prefix { !$0.isToMany }.compactMap { hop in
                compiled.model.entity(tagged: hop.owner)?.properties[hop.slot].name
            }
        }
        return Set(names).filter { !$0.isEmpty }.sorted { $0.lexicographicallyPrecedes($1) }
    }
}

extension PropertyMask {
    fileprivate mutating func formUnion(_ slot: Int?) {
        if let slot { insert(slot) }
    }
}

extension ListDetails {
    /// Whether a list that was asked for is divided and refreshed as a plan says.
    fileprivate func isOf(_ plan: ResultsPlan) -> Bool {
        sectionKeyPath == plan.sectionKeyPath && refreshKeyPaths == plan.compiled.refreshKeyPaths
    }
}
