package import TandemModel
package import TandemQuery

/// The result of a fetch.
package struct FetchResult {
    /// The objects in the request's order, after offset and limit; empty if only references or a
    /// count are requested.
    package var objects: StoredObjects = []
    /// The objects without their rows, if references are requested.
    package var references: [ObjectReference] = []
    /// The placements of a list's objects, if the list has too many objects to be answered with
    /// rows.
    package var places: ListPlacements?
    /// The list, if it is too large for one chunk; ``places`` then has no objects.
    package var list: ListInParts?
    /// The number of matches.
    ///
    /// The number is exact for a count and without a limit; otherwise it is at most offset plus
    /// limit.
    package var count = 0
    /// A short description of the access path.
    package var plan = ""
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
    /// With `chunkBytes`, a list of more bytes is returned in chunks (``FetchResult/list``).
    ///
    /// Cost: one evaluation for each candidate. An index supplies the candidates if this reads less
    /// than a scan (``TandemStore``, Planning). Candidates are evaluated in place, and only the
    /// rows of the answer are copied; with a limit, these are read at the end. Sorting keeps a key
    /// of each match in memory.
    ///
    /// Throws ``StoreError``: `tooMuch` if key paths and subqueries reach more objects than
    /// ``ReadBudget`` allows, and the errors of the budget's check.
    package func fetch(
        _ request: CompiledRequest, for part: FetchResultKind = .rows, past: HistoricalGraph? = nil,
        chunkBytes: Int? = nil, budget: ReadBudget? = nil
    ) throws(StoreError) -> FetchResult {
        let planner = FetchPlanner(request, for: part, in: self)
        let plan = try planner.plan(isPast: past != nil)
        return try fetch(
            request, by: plan, for: part, past: past, chunkBytes: chunkBytes,
            budget: budget ?? readBudget())
    }

    /// Carries out a fetch that needs only a few keys or rows; returns nil if no plan guarantees
    /// that.
    ///
    /// Cost: at most a few hundred keys and rows.
    package func fetchLittle(
        _ request: CompiledRequest, for part: FetchResultKind = .rows, budget: ReadBudget
    ) throws(StoreError) -> FetchResult? {
        let planner = FetchPlanner(request, for: part, in: self)
        guard let plan = try planner.littlePlan() else { return nil }
        return try fetch(request, by: plan, for: part, budget: budget)
    }

    /// Carries out a fetch by a plan.
    func fetch(
        _ request: CompiledRequest, by plan: FetchPlan, for part: FetchResultKind,
        past: HistoricalGraph? = nil, chunkBytes: Int? = nil, budget: ReadBudget
    ) throws(StoreError) -> FetchResult {
        var result = FetchResult()
        result.plan = plan.access.description
        result.steps = plan.steps(of: request, for: part)
        if past == nil,
            try fill(&result, request, plan, part, chunkBytes: chunkBytes, budget: budget)
        {
            return result
        }
        let matches = FetchMatches(request, plan, part, self, past, budget)
        var candidates = FetchCandidates(plan, request, part, self, matches, budget)
        try candidates.run()
        // The candidates so far are all objects that exist now, except those that changed after the
        // position.
        try matches.evaluateChanged()
        try matches.sort()
        result.count = matches.count
        result.rowsRead = matches.rowsRead + candidates.relatedRowsRead
        result.keysRead = matches.keysRead + candidates.relatedKeysRead
        let answer = matches.answer()
        assert(answer.count <= result.count, "The answer is a part of the matches.")
        result.places = try matches.places(of: answer)
        if result.places != nil { return result }
        if part == .references {
            result.references = matches.references(to: answer)
        } else {
            result.objects = try matches.objects(of: answer)
        }
        return result
    }

    /// Fills in a list, or all rows, if the keys of an index give the order; returns false
    /// otherwise.
    private func fill(
        _ result: inout FetchResult, _ request: CompiledRequest, _ plan: FetchPlan,
        _ part: FetchResultKind, chunkBytes: Int?, budget: ReadBudget
    ) throws(StoreError) -> Bool {
        if let walk = ListIndexScan(request, plan, part, self, budget) {
            // A short list is answered with rows.
            guard let list = try walk.read() else { return false }
            (result.count, result.rowsRead, result.keysRead) =
                (list.count, walk.rowsRead, walk.keysRead)
            if let chunkBytes, list.bytes > chunkBytes {
                (result.places, result.list) = (list.head, list)
            } else {
                result.places = try list.allPlaces(budget)
            }
            return true
        }
        guard var walk = SortedTableScan(request, plan, part, self, budget) else { return false }
        result.objects = try walk.read()
        (result.count, result.rowsRead, result.keysRead) =
            (result.objects.count, walk.rowsRead, walk.keysRead)
        return true
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
