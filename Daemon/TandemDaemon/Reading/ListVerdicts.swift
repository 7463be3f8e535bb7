import TandemModel
import TandemQuery
import TandemStore
import TandemWire

/// One list of a question for verdicts: which objects changes concern, and what became of each, some at a time.
///
/// What changes while that goes on is another round (``begin(_:)``), whose verdicts take the place of the earlier ones.
///
/// State:
/// - `search`, `next`: the objects of the round, and the first that is not judged.
/// - `judged`: the verdicts of the round; `verdicts`: of the rounds before.
/// - `old`, `new`, `whole`: how far the latter two have become one.
struct ListVerdicts {
    let request: CompiledRequest
    private var search: CandidateSearch
    private var next = 0
    private var judged: [Verdict] = []
    /// The verdicts on all objects, in their order; when it is done.
    private(set) var verdicts: [Verdict] = []
    private var (old, new) = (0, 0)
    private var whole: [Verdict] = []
    private(set) var isDone = true

    init(_ request: CompiledRequest) {
        self.request = request
        search = CandidateSearch(request, [])
    }

    /// About the bytes that it holds but for the verdicts.
    var bytes: Int { search.bytes + whole.count * MemoryLayout<Verdict>.stride }

    /// Begins a round, with what changed since the one before.
    mutating func begin(_ changes: [ChangedObject]) {
        search = CandidateSearch(request, changes)
        next = 0
        isDone = false
    }

    /// Goes on until `budget` objects are looked at; true when the round is done.
    ///
    /// One object is judged in one piece. Throws ``StoreError`` when that takes more than ``ReadBudget`` has, `limitExceeded` when verdicts are
    /// more than an answer has room for, and `storage` when something can't be read.
    mutating func step(
        _ graphs: VerdictGraphs, _ related: inout RelatedRows, _ size: AnswerSize,
        _ budget: inout Int
    ) throws -> Bool {
        guard !isDone, try search.step(graphs, &budget) else { return isDone }
        let objects = search.candidates
        while budget > 0, next < objects.count {
            if next == 0 || objects[next - 1] != objects[next] {
                judged.append(try judge(objects[next], graphs, &related, size, &budget))
            }
            next += 1
        }
        guard next == objects.count, merge(size, &budget) else { return false }
        search = CandidateSearch(request, [])
        isDone = true
        return true
    }

    // MARK: Judging

    private func judge(
        _ object: ObjectReference, _ graphs: VerdictGraphs, _ related: inout RelatedRows,
        _ size: AnswerSize, _ budget: inout Int
    ) throws -> Verdict {
        let verdict = try verdict(on: object, graphs)
        budget -= 1 + graphs.budget.takeSpent()
        try size.add(verdict.row)
        if verdict.matches, let row = verdict.row {
            for path in request.paths { try related.follow(path.hops[...], from: row) }
            budget -= related.takeLooked()
        }
        return verdict
    }

    private func verdict(on object: ObjectReference, _ graphs: VerdictGraphs) throws -> Verdict {
        guard let stored = try graphs.store.stored(object, graphs.end) else {
            return Verdict(object: object, matches: false, refreshed: false, version: 0, row: nil)
        }
        graphs.budget.beginObject()
        let matches = request.matches(object, stored.row, graphs.now)
        let isRefreshed = isRefreshed(stored, graphs)
        try graphs.check()
        guard let matches else { throw unknown(object, graphs.store) }
        return Verdict(
            object: object, matches: matches, refreshed: isRefreshed, version: stored.version,
            row: stored.row)
    }

    /// A long text whose content is gone, for instance.
    private func unknown(_ object: ObjectReference, _ store: Store) -> TandemError {
        TandemError(
            .storage,
            "whether \(request.model.id(of: object)) matches can't be told, as the store at "
                + "\(store.path) lacks something that the predicate reads; run `tandem check`")
    }

    private func isRefreshed(_ stored: Store.Stored, _ graphs: VerdictGraphs) -> Bool {
        guard !request.refreshKeyPaths.isEmpty,
            case .row(let row) = graphs.past.row(of: stored.object)
        else { return false }
        return request.refreshValues(stored.object, row, graphs.past)
            != request.refreshValues(stored.object, stored.row, graphs.now)
    }

    // MARK: Rounds

    /// So many verdicts are put in order for one of a budget.
    private static var verdictsForOne: Int { 8 }

    /// Puts the round's verdicts in the place of earlier ones; true when that is done.
    private mutating func merge(_ size: AnswerSize, _ budget: inout Int) -> Bool {
        if verdicts.isEmpty || judged.isEmpty {
            if verdicts.isEmpty { verdicts = judged }
            judged = []
            return true
        }
        while old < verdicts.count || new < judged.count {
            guard budget > 0 else { return false }
            budget -= 1
            for _ in 0..<Self.verdictsForOne { takeNext(size) }
        }
        verdicts = whole
        (judged, whole, old, new) = ([], [], 0, 0)
        return true
    }

    private mutating func takeNext(_ size: AnswerSize) {
        guard new < judged.count else {
            guard old < verdicts.count else { return }
            whole.append(verdicts[old])
            return old += 1
        }
        if old < verdicts.count, verdicts[old].object <= judged[new].object {
            if verdicts[old].object < judged[new].object {
                whole.append(verdicts[old])
            } else {
                size.remove(verdicts[old].row)
            }
            return old += 1
        }
        whole.append(judged[new])
        new += 1
    }
}
