import TandemModel
import TandemQuery
import TandemStore

/// Makes the rows of a fetch of values out of the objects that were found, some at a time.
///
/// At every step, the objects and all that columns read of others have to be what they were at the first one. Where others altered some of
/// that, whoever carries it out begins anew. What groups and conditions on them take at the end is done in one step.
struct ColumnsUnderWay {
    private let columns: CompiledColumns
    private let objects: StoredObjects
    private let budget: ReadBudget
    private let size: AnswerSize
    private var fold: ColumnFold
    /// The next object that is looked at.
    private var next = 0
    /// The rows, when it is done.
    private(set) var rows: [[Value]] = []

    /// Begins with all objects, none of which was looked at.
    init(
        _ columns: FetchColumns, of request: FetchRequest, _ objects: StoredObjects,
        in model: CompiledModel, _ committer: Committer
    ) throws {
        self.columns = try CompiledColumns(columns, of: request, in: model)
        self.objects = objects
        budget = committer.store.readBudget()
        size = AnswerSize(committer)
        fold = ColumnFold(self.columns)
    }

    /// About the bytes that it holds, beside the objects' rows, which it has in common with the fetch.
    var bytes: Int { objects.count * MemoryLayout<Int>.stride + fold.bytes }

    /// Looks at the next objects until a budget is used up; true when ``rows`` are known.
    ///
    /// An object takes one of it, and each that its key paths read another. Throws `limitExceeded` when these lead to more than a request may
    /// read, and for more bytes than an answer may have.
    mutating func step(
        _ committer: Committer, _ past: PastGraph?, _ left: inout Int
    ) throws -> Bool {
        let reader = PastReader(
            store: StoreReader(committer.store, budget: budget), past: past)
        while left > 0, next < objects.count {
            let stored = objects[next]
            budget.beginObject()
            guard let values = columns.values(stored.object, stored.row, reader) else {
                throw failure
            }
            fold.add(values)
            try size.check(fold.bytes)
            next += 1
            left -= 1 + budget.takeSpent()
        }
        guard next == objects.count else { return false }
        budget.beginObject()
        guard let rows = fold.rows(reader) else { throw failure }
        self.rows = rows
        return true
    }

    private var failure: any Error {
        budget.refusal ?? budget.failure
            ?? StoreError(.damaged, "a row could not be read while its values were fetched")
    }
}
