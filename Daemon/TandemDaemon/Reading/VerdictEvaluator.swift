import TandemModel
import TandemQuery
import TandemStore
import TandemWire

/// Decides for a results controller what it can't know itself: which rows a window of transactions may have brought in, taken
/// out or refreshed through related objects, and what they are now.
///
/// In one go, where the store stands at the window's end. Questions of clients are worked off in steps: ``VerdictsUnderWay``.
struct VerdictEvaluator {
    private let request: CompiledRequest
    private let changes: [ChangedObject]
    private let graphs: VerdictGraphs

    /// Judges what became of a list over a window.
    init(
        _ request: CompiledRequest, _ window: TransactionWindow, _ store: Store,
        _ budget: ReadBudget? = nil
    ) {
        self.request = request
        changes = window.changes.values.map { ChangedObject(object: $0.object, mask: $0.mask) }
            .sorted { $0.object < $1.object }
        graphs = VerdictGraphs(store, from: PastGraph(at: 0, window), budget)
    }

    /// The objects whose verdict, order or row may be another since before the window; some perhaps more than once.
    ///
    /// So may those that lead to what moved in an index that was walked. What is looked at for that is taken from a budget, which does not end it. Throws ``StoreError`` when it
    /// takes more than ``ReadBudget`` has, `storage` when something can't be read.
    func candidates(
        _ budget: inout Int, walked: [WalkedIndex] = []
    ) throws -> [ObjectReference] {
        var search = CandidateSearch(request, changes, walked: walked)
        var left = Int.max >> 1
        budget -= left + changes.count
        defer { budget += left }
        while try !search.step(graphs, &left) {}
        return search.candidates
    }

    /// The verdicts on all candidates, by number, and the rows to which key paths lead from those that match.
    func verdicts(
        _ size: AnswerSize
    ) throws -> (verdicts: [Verdict], related: [StoredObject]) {
        var list = ListVerdicts(request)
        list.begin(changes)
        var related = RelatedRows(graphs.store, request.model, nil, size)
        var left = Int.max >> 1
        while try !list.step(graphs, &related, size, &left) {}
        return (list.verdicts, related.objects)
    }
}
