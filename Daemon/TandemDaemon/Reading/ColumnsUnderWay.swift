import TandemModel
import TandemQuery
import TandemStore
import TandemWire

/// Makes the rows of a fetch of values out of the objects that were found, at the position of the answer.
struct ColumnAnswer {
    let committer: Committer
    let past: PastGraph?

    /// The rows.
    ///
    /// Throws `limitExceeded` when key paths lead to more than a request may read. Cost: some hundred nanoseconds an object, in one go.
    func rows(
        _ columns: FetchColumns, of request: FetchRequest, _ objects: StoredObjects,
        in model: CompiledModel
    ) throws -> [[Value]] {
        let columns = try CompiledColumns(columns, of: request, in: model)
        let budget = committer.store.readBudget()
        let reader = PastReader(
            store: StoreReader(committer.store, budget: budget), past: past)
        var fold = ColumnFold(columns)
        let size = AnswerSize(committer)
        for stored in objects {
            budget.beginObject()
            guard let values = columns.values(stored.object, stored.row, reader) else {
                throw Self.failure(budget)
            }
            fold.add(values)
            try size.check(fold.bytes)
        }
        budget.beginObject()
        guard let rows = fold.rows(reader) else { throw Self.failure(budget) }
        return rows
    }

    private static func failure(_ budget: ReadBudget) -> any Error {
        budget.refusal ?? budget.failure
            ?? StoreError(.damaged, "a row could not be read while its values were fetched")
    }
}

extension Fetch {
    /// What the store gives for it.
    func part(of request: CompiledRequest) throws(TandemError) -> FetchPart {
        switch kind {
        case .count: .count
        case .references: .references
        case .rows, .columns: .rows
        case .list: .list(try ListHops(list ?? ListDetails(), of: request))
        }
    }

    /// The request for the objects that the answer is made of, compiled.
    func compiled(in model: CompiledModel) throws(TandemError) -> CompiledRequest {
        if let columns { return try CompiledColumns(columns, of: request, in: model).objects }
        // What places objects or shows others is followed back from what changes while the fetch is carried out.
        return try CompiledRequest(
            request, sectionKeyPath: list?.sectionKeyPath,
            refreshKeyPaths: list?.refreshKeyPaths ?? [], in: model)
    }
}
