import TandemModel
import TandemQuery

/// The execution of a fetch by a plan, on one view of the store.
struct FetchRun {
    let request: CompiledRequest
    let plan: FetchPlan
    let kind: FetchResultKind
    let view: StoreView
    /// The graph to read; nil for the view's own position.
    let past: HistoricalGraph?
    let budget: ReadBudget

    /// Whether the result needs no rows at all.
    var needsNoRows: Bool { plan.needsNoRows(for: kind) }

    /// A reader of the graph.
    var reader: StoreReader { StoreReader(view, past: past, budget: budget) }

    /// The error to throw after a failed read.
    var unread: StoreError { budget.interruption ?? budget.failure ?? view.unreadable }

    /// Carries out the fetch.
    func result(chunkBytes: Int?) throws(StoreError) -> FetchResult {
        var result = FetchResult()
        result.steps = plan.steps(of: request, for: kind)
        if past == nil, try fill(&result, chunkBytes: chunkBytes) { return result }
        let matches = FetchMatches(self)
        var candidates = FetchCandidates(self, matches)
        try candidates.find()
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
        if kind == .references {
            result.references = matches.references(to: answer)
        } else {
            result.objects = try matches.objects(of: answer)
        }
        return result
    }

    /// Reads a long list or all rows into `result` if index keys provide the order; returns false
    /// otherwise.
    private func fill(_ result: inout FetchResult, chunkBytes: Int?) throws(StoreError) -> Bool {
        if let walk = ListIndexScan(self) {
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
        guard var walk = SortedTableScan(self) else { return false }
        result.objects = try walk.read()
        (result.count, result.rowsRead, result.keysRead) =
            (result.objects.count, walk.rowsRead, walk.keysRead)
        return true
    }
}
