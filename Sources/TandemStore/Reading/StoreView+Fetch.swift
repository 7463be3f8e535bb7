public import TandemModel
public import TandemQuery

/// What a fetch found.
public struct FetchResult {
    /// The objects in the request's order, after offset and limit; empty when only references or a count are wanted.
    public var objects: StoredObjects = []
    /// The objects without their rows, if these are wanted.
    public var references: [ObjectReference] = []
    /// Where the objects stand, if they are those of a list and too many for their rows.
    public var places: ListPlaces?
    /// The same of a list of so many bytes that it is taken in parts; then ``places`` has no objects.
    public var list: ListInParts?
    /// How many match: for a count and without a limit all, else up to the last one that is wanted, offset and limit together.
    public var count = 0
    /// How the candidates were found, in a few words.
    public var plan = ""
    /// How the candidates were found, for `tandem explain`.
    public var steps: [FetchPlanStep] = []
    /// How many rows were read to find them.
    public var rowsRead = 0
    /// How many keys of indexes and links were read to find them.
    public var keysRead = 0
}

/// Fetching: plan, candidates by index or scan, evaluation, order.
extension StoreView {
    /// Fetches at ``appliedPosition``, or at an earlier position.
    ///
    /// With `partBytes` a list of more bytes is taken in parts (``FetchResult/list``).
    ///
    /// Cost: the candidates, which an index finds where that reads less than a scan (``TandemStore``, Planning); sorting keeps a key of each match in memory. Rows are copied into the answer only: every
    /// candidate is evaluated where it lies, and with a limit the rows of the answer are read at the end. Throws ``StoreError``: `tooMuch`
    /// when key paths and subqueries reach more than ``ReadBudget`` has, and what the budget's check throws.
    public func fetch(
        _ request: CompiledRequest, for part: FetchPart = .rows, past: PastGraph? = nil,
        partBytes: Int? = nil, budget: ReadBudget? = nil
    ) throws(StoreError) -> FetchResult {
        let planner = FetchPlanner(request, for: part, in: self)
        let plan = try planner.plan(isPast: past != nil)
        return try fetch(
            request, by: plan, for: part, past: past, partBytes: partBytes,
            budget: budget ?? readBudget())
    }

    /// Fetches what a few keys or rows lead to; nil where no plan says that it is so little.
    ///
    /// Cost: at most a few hundred keys and rows.
    public func fetchLittle(
        _ request: CompiledRequest, for part: FetchPart = .rows, budget: ReadBudget
    ) throws(StoreError) -> FetchResult? {
        let planner = FetchPlanner(request, for: part, in: self)
        guard let plan = try planner.littlePlan() else { return nil }
        return try fetch(request, by: plan, for: part, budget: budget)
    }

    /// Fetches by a plan.
    func fetch(
        _ request: CompiledRequest, by plan: FetchPlan, for part: FetchPart,
        past: PastGraph? = nil, partBytes: Int? = nil, budget: ReadBudget
    ) throws(StoreError) -> FetchResult {
        var result = FetchResult()
        result.plan = plan.access.description
        result.steps = plan.steps(of: request, for: part)
        if past == nil,
            try fill(&result, request, plan, part, partBytes: partBytes, budget: budget)
        {
            return result
        }
        let matches = FetchMatches(request, plan, part, self, past, budget)
        var candidates = FetchCandidates(plan, request, part, self, matches, budget)
        try candidates.run()
        // The candidates are all objects that were there, without those that changed since.
        try matches.lookAtChanged()
        try matches.sort()
        result.count = matches.count
        result.rowsRead = matches.rowsRead + candidates.relatedRowsRead
        result.keysRead = matches.keysRead + candidates.relatedKeysRead
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

    /// Fills in a list or all rows where the keys of an index say the order; false where they do not.
    private func fill(
        _ result: inout FetchResult, _ request: CompiledRequest, _ plan: FetchPlan,
        _ part: FetchPart, partBytes: Int?, budget: ReadBudget
    ) throws(StoreError) -> Bool {
        if let walk = ListWalk(request, plan, part, self, budget) {
            // Of a short list the rows are wanted.
            guard let list = try walk.read() else { return false }
            (result.count, result.rowsRead, result.keysRead) =
                (list.count, walk.rowsRead, walk.keysRead)
            if let partBytes, list.bytes > partBytes {
                (result.places, result.list) = (list.head, list)
            } else {
                result.places = list.allPlaces()
            }
            return true
        }
        guard var walk = RowsWalk(request, plan, part, self, budget) else { return false }
        result.objects = try walk.read()
        (result.count, result.rowsRead, result.keysRead) =
            (result.objects.count, walk.rowsRead, walk.keysRead)
        return true
    }
}
