import TandemModel
import TandemQuery
import TandemStore
import TandemWire

/// Decides for a results controller what it can't know itself: which rows a window of transactions may have brought in, taken
/// out or refreshed through related objects, and what they are now.
///
/// Candidates are found by following the observed key paths backwards over their inverses, in the graph as it was and as it
/// is; every candidate is then judged at the store's position, or where a client goes that looks back.
struct VerdictEvaluator {
    private let request: CompiledRequest
    private let window: TransactionWindow
    private let now: PastReader
    private let past: PastReader
    private let end: PastGraph?
    private let store: Store
    private let budget: ReadBudget

    /// Judges what became of a list over a window, or, with the two graphs, on the way from one to the other.
    init(
        _ request: CompiledRequest, _ window: TransactionWindow, _ store: Store,
        _ budget: ReadBudget = ReadBudget(), from start: PastGraph? = nil,
        to end: PastGraph? = nil
    ) {
        self.request = request
        self.budget = budget
        self.window = window
        self.store = store
        self.end = end
        let reader = StoreReader(store, budget: budget)
        now = PastReader(store: reader, past: end)
        past = PastReader(store: reader, past: start ?? PastGraph(at: 0, window))
    }

    /// The verdicts on all candidates, by number.
    ///
    /// Throws `limitExceeded` when that takes more than ``ReadBudget`` has, `storage` when something can't be read: nothing is
    /// judged by half of what there is. `limitExceeded`, too, when they are more than an answer has room for.
    func verdicts(_ size: AnswerSize? = nil) throws -> [Verdict] {
        try candidates().sorted().map { object in
            let verdict = try verdict(object)
            try size?.add(verdict.row)
            return verdict
        }
    }

    /// How many changes and related objects were looked at since this was last asked.
    func takeLooked() -> Int { window.changes.count + budget.takeSpent() }

    private func checkReads() throws(TandemError) {
        if budget.isExhausted { throw TandemError(.limitExceeded, ReadBudget.message) }
        if let failure = budget.failure { throw TandemError(.storage, failure.message) }
    }

    // MARK: Candidates

    /// The objects whose verdict, order or row may be another since before the window.
    func candidates() throws -> Set<ObjectReference> {
        var found: Set<ObjectReference> = []
        for net in window.changes.values {
            if request.includes(tag: net.object.tag) { found.insert(net.object) }
            for path in request.paths { found.formUnion(roots(of: net, along: path)) }
        }
        try checkReads()
        return found.filter { request.includes(tag: $0.tag) }
    }

    /// The rows whose value along a path a change may have altered.
    private func roots(
        of net: TransactionWindow.NetChange, along path: ObservedPath
    ) -> Set<ObjectReference> {
        var found: Set<ObjectReference> = []
        for (index, hop) in path.hops.enumerated() where index > 0 {
            if isOne(net.object, of: hop.owner), net.mask.contains(hop.slot) {
                found.formUnion(back(from: net.object, over: path.hops[..<index]))
            }
        }
        if let final = path.final, let last = path.hops.last,
            isOne(net.object, of: last.destination),
            isOne(net.object, of: final.entity), net.mask.contains(final.slot)
        {
            found.formUnion(back(from: net.object, over: path.hops[...]))
        }
        return found
    }

    private func isOne(_ object: ObjectReference, of tag: EntityTag) -> Bool {
        request.model.entity(tagged: tag)?.includes(object.tag) ?? false
    }

    private func back(
        from object: ObjectReference, over hops: ArraySlice<ObservedHop>
    ) -> Set<ObjectReference> {
        back([object], hops, now).union(back([object], hops, past))
    }

    private func back(
        _ objects: Set<ObjectReference>, _ hops: ArraySlice<ObservedHop>, _ reader: some GraphReader
    ) -> Set<ObjectReference> {
        guard let hop = hops.last,
            let relationship = request.model.entity(tagged: hop.owner)?.properties[hop.slot]
                .relationship
        else { return objects }
        var owners: Set<ObjectReference> = []
        for object in objects {
            owners.formUnion(predecessors(of: object, relationship, reader))
        }
        return back(owners, hops.dropLast(), reader)
    }

    private func predecessors(
        of object: ObjectReference, _ relationship: CompiledRelationship, _ reader: some GraphReader
    ) -> [ObjectReference] {
        guard let entity = request.model.entity(tagged: object.tag),
            relationship.inverseSlot < entity.properties.count,
            let inverse = entity.properties[relationship.inverseSlot].relationship
        else { return [] }
        if inverse.toMany {
            return reader.members(of: object, inverse, slot: relationship.inverseSlot) ?? []
        }
        guard case .row(let row) = reader.row(of: object) else { return [] }
        return row.reference(relationship.inverseSlot, in: entity).map { [$0] } ?? []
    }

    // MARK: Verdicts

    private func verdict(_ object: ObjectReference) throws -> Verdict {
        guard let stored = try store.stored(object, end) else {
            return Verdict(object: object, matches: false, refreshed: false, version: 0, row: nil)
        }
        budget.beginObject()
        let matches = request.matches(object, stored.row, now)
        let isRefreshed = isRefreshed(stored)
        try checkReads()
        guard let matches else { throw unknown(object) }
        return Verdict(
            object: object, matches: matches, refreshed: isRefreshed, version: stored.version,
            row: stored.row)
    }

    /// A long text whose content is gone, for instance.
    private func unknown(_ object: ObjectReference) -> TandemError {
        TandemError(
            .storage,
            "whether \(request.model.id(of: object)) matches can't be told, as the store at "
                + "\(store.path) lacks something that the predicate reads; run `tandem check`")
    }

    private func isRefreshed(_ stored: Store.Stored) -> Bool {
        guard !request.refreshKeyPaths.isEmpty, case .row(let row) = past.row(of: stored.object)
        else {
            return false
        }
        return request.refreshValues(stored.object, row, past)
            != request.refreshValues(stored.object, stored.row, now)
    }
}
