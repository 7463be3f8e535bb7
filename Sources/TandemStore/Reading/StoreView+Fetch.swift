package import TandemModel
package import TandemQuery

/// The result of a fetch.
package struct FetchResult {
    /// The objects in the request's order, after offset and limit; empty if only references or a
    /// count are requested.
    package var objects: StoredObjects = []
    /// The objects without their rows, if references are requested.
    package var references: [ObjectReference] = []
    /// The placements of a list's objects, if there are too many objects to answer with rows.
    package var places: ListPlacements?
    /// The list as a source of chunks, if it is too large for one chunk; ``places`` then has no
    /// objects.
    package var list: ChunkedList?
    /// The number of matches.
    ///
    /// The number is exact if only a count is requested or there is no limit; otherwise it is at
    /// most offset plus limit.
    package var count = 0
    /// The steps of the plan, for `tandem explain`.
    package var steps: [FetchPlanStep] = []
    /// The number of rows that were read to find the objects.
    package var rowsRead = 0
    /// The number of index and link keys that were read to find the objects.
    package var keysRead = 0
}

/// Fetching: planning, then finding, evaluating and sorting candidates.
extension StoreView {
    /// Fetches at ``appliedPosition``, or at an earlier position.
    ///
    /// A list of more than `chunkBytes` bytes is returned in chunks (``FetchResult/list``).
    ///
    /// Cost: one evaluation for each candidate. An index supplies the candidates if this reads less
    /// than a scan (``TandemStore``, Planning). Candidates are evaluated in place, and only the
    /// rows of the answer are copied; with a limit, these are read at the end. Sorting keeps a key
    /// of each match in memory.
    ///
    /// Throws ``StoreError``: `tooMuch` if key paths and subqueries reach more objects than
    /// ``ReadBudget`` allows, and the errors of the budget's check.
    package func fetch(
        _ request: CompiledRequest, for kind: FetchResultKind = .rows, past: HistoricalGraph? = nil,
        chunkBytes: Int? = nil, budget: ReadBudget? = nil
    ) throws(StoreError) -> FetchResult {
        let planner = FetchPlanner(request, for: kind, in: self)
        let plan = try planner.plan(isPast: past != nil)
        return try fetch(
            request, by: plan, for: kind, past: past, chunkBytes: chunkBytes,
            budget: budget ?? readBudget())
    }

    /// Carries out a fetch that needs only a few keys or rows; returns nil if no plan guarantees
    /// that.
    ///
    /// Cost: at most a few hundred keys and rows.
    package func fetchLittle(
        _ request: CompiledRequest, for kind: FetchResultKind = .rows, budget: ReadBudget
    ) throws(StoreError) -> FetchResult? {
        let planner = FetchPlanner(request, for: kind, in: self)
        guard let plan = try planner.smallPlan() else { return nil }
        return try fetch(request, by: plan, for: kind, budget: budget)
    }

    /// Carries out a fetch with a given plan.
    func fetch(
        _ request: CompiledRequest, by plan: FetchPlan, for kind: FetchResultKind,
        past: HistoricalGraph? = nil, chunkBytes: Int? = nil, budget: ReadBudget
    ) throws(StoreError) -> FetchResult {
        let run = FetchRun(
            request: request, plan: plan, kind: kind, view: self, past: past, budget: budget)
        return try run.result(chunkBytes: chunkBytes)
    }

    /// Returns the row of an object at an earlier position, or the current row if `past` is nil.
    package func stored(_ object: ObjectReference, _ past: HistoricalGraph?) throws(StoreError)
        -> StoredObject?
    {
        guard let past, let net = past.net(object) else { return try stored(object) }
        return net.before.map {
            StoredObject(object: object, version: past.position, row: $0)
        }
    }
}
