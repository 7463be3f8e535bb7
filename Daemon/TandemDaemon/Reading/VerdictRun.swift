import TandemModel
import TandemQuery
import TandemStore
import TandemWire

/// The evaluation of verdicts, for results controllers that lack the necessary related objects.
///
/// A verdict states whether an object belongs to a list after some transactions, whether it must be
/// refreshed, and its row.
struct VerdictRun {
    private let run: ReadRun
    private let window: ReadWindow
    private let changes: [ChangedObject]
    private let budget: ReadBudget
    /// The graph at the verdicts' position, and the one at the earlier position.
    private let (now, before): (StoreReader, StoreReader)
    /// The rows that the key paths of matching objects refer to.
    private(set) var related: RelatedRows
    private var isFirst = true

    init(_ run: ReadRun, _ window: ReadWindow) {
        self.run = run
        self.window = window
        changes = window.changedObjects
        budget = run.budget()
        now = StoreReader(run.view, past: window.end, budget: budget)
        before = StoreReader(run.view, past: window.start, budget: budget)
        related = RelatedRows(run, budget)
    }

    /// Returns the verdicts on all objects of a list that may be affected by the changes, in the
    /// order of references.
    ///
    /// Throws ``StoreError`` if the first list exceeds the ``ReadBudget``, and `historyExpired` if
    /// a later list does, because all lists share the budget. Throws `storage` if something can't
    /// be read.
    mutating func verdicts(on request: CompiledRequest) throws -> [Verdict] {
        defer { isFirst = false }
        do {
            let search = CandidateSearch(request, changes, now, budget)
            var verdicts: [Verdict] = []
            for object in try search.candidates() {
                let verdict = try verdict(on: object, of: request)
                verdicts.append(verdict)
                guard verdict.matches, let row = verdict.row else { continue }
                for path in request.paths { try related.follow(path.hops[...], from: row) }
            }
            return verdicts
        } catch let error as StoreError where error.isTooMuch && !isFirst {
            throw TandemError(
                .historyExpired,
                "the lists have too many dependencies to be evaluated together; fetch again")
        }
    }

    private func verdict(
        on object: ObjectReference, of request: CompiledRequest
    ) throws -> Verdict {
        let stored = try run.view.stored(object, window.end)
        try budget.collect(stored?.row)
        guard let stored else {
            return Verdict(object: object, matches: false, refreshed: false, version: 0, row: nil)
        }
        budget.beginObject()
        let matches = request.matches(object, stored.row, now)
        let isRefreshed = isRefreshed(stored, request)
        try budget.expectAllWasRead()
        guard let matches else { throw unknown(object) }
        return Verdict(
            object: object, matches: matches, refreshed: isRefreshed, version: stored.version,
            row: stored.row)
    }

    /// Returns the error for an object that can't be evaluated, for example because the content of
    /// a long text is missing.
    private func unknown(_ object: ObjectReference) -> TandemError {
        TandemError(
            .storage,
            "the predicate cannot be evaluated for \(run.model.id(of: object)), because the store at "
                + "\(run.view.path) lacks data that it reads; run `tandem check`")
    }

    private func isRefreshed(_ stored: StoredObject, _ request: CompiledRequest) -> Bool {
        guard !request.refreshKeyPaths.isEmpty,
            case .row(let row) = before.row(of: stored.object)
        else { return false }
        return request.refreshValues(stored.object, row, before)
            != request.refreshValues(stored.object, stored.row, now)
    }
}

extension ReadBudget {
    /// Throws if an object was not read, because then no verdict would be reliable.
    ///
    /// The error is ``StoreError`` if the budget was exceeded, and `storage` if something could not
    /// be read.
    func expectAllWasRead() throws {
        if let interruption { throw interruption }
        if let failure { throw TandemError(.storage, failure.message) }
    }
}
