public import TandemModel
public import TandemQuery

/// A fetch that can be carried out in steps, between which the store may change.
///
///     let cursor = try FetchCursor(request, for: .rows, in: store)
///     repeat {
///         // Transactions may be applied here; what they may have altered for the request is told, at the latest once ``isScanned``.
///         cursor.touch(objects)
///         var budget = 4_096
///         isDone = try cursor.step(&budget)
///     } while !isDone
///     let result = try cursor.result()
///
/// **Why that is exact.** Each candidate is judged at some position. One that no transaction behind it touched, neither itself nor over a key
/// path of the request, has the same verdict, order and row at the end; one that was touched is judged again. So the result
/// is what a fetch at the position of the last step gives. What a scan or an index skipped or gave twice because
/// it moved was touched. Bound to the store's thread. The model must not change meanwhile.
///
/// At an earlier position (``PastGraph``) an index leads to everything that was there but what changed since, which is
/// told to be touched, and judged by what it was.
public final class FetchCursor {
    private let request: CompiledRequest
    private let store: Store
    private let part: FetchPart
    /// How candidates are found.
    let plan: FetchPlan
    private var candidates: FetchCandidates
    private let matches: FetchMatches
    /// What gives the answer from an index while nothing of it is altered.
    private var walk: (any FetchWalk)?
    /// What was touched and is not judged again yet.
    private var touched: Set<ObjectReference> = []
    /// The part of it that is being judged again.
    private var again: [ObjectReference] = []

    /// Begins a fetch, of what there is or of what there was; nothing is judged yet.
    ///
    /// With `partBytes` a list of more bytes may be known before it is put in order (``list``). Throws ``StoreError``; to choose a plan it
    /// looks at some keys and rows.
    public convenience init(
        _ request: CompiledRequest, for part: FetchPart, in store: Store, past: PastGraph? = nil,
        partBytes: Int? = nil
    ) throws(StoreError) {
        let planner = FetchPlanner(request, for: part, in: store)
        let plan = try planner.plan(isPast: past != nil)
        try self.init(request, by: plan, for: part, in: store, past: past, partBytes: partBytes)
    }

    /// Begins a fetch by a plan.
    init(
        _ request: CompiledRequest, by plan: FetchPlan, for part: FetchPart, in store: Store,
        past: PastGraph? = nil, partBytes: Int? = nil
    ) throws(StoreError) {
        self.request = request
        self.store = store
        self.part = part
        self.plan = plan
        matches = FetchMatches(request, plan, part, store, past)
        candidates = try FetchCandidates(plan, request, part, store, matches)
        guard past == nil else { return }
        walk =
            ListWalk(request, plan, part, store, partBytes: partBytes)
            ?? RowsWalk(request, plan, part, store)
    }

    /// About the bytes that it holds.
    public var bytes: Int {
        matches.bytes + candidates.bytes + (walk?.bytes ?? 0)
            + (touched.count + again.count) * MemoryLayout<ObjectReference>.stride
    }

    /// How many rows were judged.
    package var rowsRead: Int {
        matches.rowsRead + candidates.relatedRowsRead + (walk?.rowsRead ?? 0)
    }

    /// How many keys of indexes and links were read.
    package var keysRead: Int {
        matches.keysRead + candidates.relatedKeysRead + (walk?.keysRead ?? 0)
    }

    /// The indexes over related objects that it walks: what moves in them has to be followed back and told (``touch(_:)``).
    public var walked: [WalkedIndex] { plan.walked() }

    /// Whether all candidates were judged, so that only what is touched is left.
    public var isScanned: Bool { walk?.isScanned ?? candidates.isDone }

    /// Whether something that was touched waits to be judged again.
    public var hasTouched: Bool { !touched.isEmpty || !again.isEmpty }

    /// Has objects judged again whose verdict, order or row transactions since the last step may have altered.
    public func touch(_ objects: some Sequence<ObjectReference>) { touched.formUnion(objects) }

    /// Goes on until `budget` candidates and related objects are looked at; true when the result is known.
    ///
    /// Throws ``StoreError``: `tooMuch` when key paths and subqueries reach more than ``ReadBudget`` has. One
    /// candidate is judged in one piece, however much it reads.
    public func step(_ budget: inout Int) throws(StoreError) -> Bool {
        if hasTouched { walk = nil }
        if let walk {
            guard try walk.step(&budget) else { return false }
            if walk.isFit { return true }
            self.walk = nil
        }
        matches.beginStep()
        try candidates.step(store, &budget)
        if candidates.isDone { try judgeAgain(&budget) }
        matches.endRun()
        return candidates.isDone && !hasTouched && matches.merge(&budget)
    }

    private func judgeAgain(_ budget: inout Int) throws(StoreError) {
        while budget > 0, hasTouched {
            if again.isEmpty {
                again = touched.sorted()
                touched = []
            }
            while budget > 0, let object = again.popLast() {
                matches.forget(object)
                try matches.look(at: object, &budget)
            }
        }
    }

    /// The objects that were found, without offset and limit, and without their rows, to be gone through in steps; after
    /// ``step(_:)`` returned true and before the store changes.
    public var references: FoundReferences { matches.references }

    /// What was found, if that is a list to be taken in parts; after ``step(_:)`` returned true.
    ///
    /// Then ``result()`` has no objects of it, but the names of sections and what is reached.
    public var list: FoundList? {
        guard let walk = walk as? ListWalk, walk.isInParts else { return nil }
        return FoundList(walk)
    }

    /// What was found; after ``step(_:)`` returned true and before the store changes.
    public func result() throws(StoreError) -> FetchResult {
        var result = FetchResult()
        result.plan = plan.access.description
        result.steps = plan.steps(of: request)
        result.count = walk?.count ?? matches.count
        result.rowsRead = rowsRead
        result.keysRead = keysRead
        if let walk {
            walk.fill(&result)
            return result
        }
        let answer = matches.answer()
        result.places = try matches.places(of: answer)
        if result.places != nil { return result }
        if part == .references {
            result.references = answer.map(\.object)
        } else {
            result.objects = try matches.objects(of: answer)
        }
        return result
    }
}
