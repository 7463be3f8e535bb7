import TandemModel
import TandemQuery
import TandemStore

/// The graph where a client was and where it goes, and how much of both a question may look at.
struct VerdictGraphs {
    let store: Store
    /// Where it goes.
    let now: PastReader
    /// Where it was.
    let past: PastReader
    /// The same as `now`; nil for what there is.
    let end: PastGraph?
    let budget: ReadBudget

    /// The graphs on the way from a position to another, or to what there is.
    init(
        _ store: Store, from start: PastGraph, to end: PastGraph? = nil,
        _ budget: ReadBudget? = nil
    ) {
        self.store = store
        self.end = end
        let budget = budget ?? store.readBudget()
        self.budget = budget
        let reader = StoreReader(store, budget: budget)
        now = PastReader(store: reader, past: end)
        past = PastReader(store: reader, past: start)
    }

    /// Throws ``StoreError`` when something was not read because the budget is used up, `storage` when something can't be
    /// read: nothing is judged by half of what there is.
    func check() throws {
        if let refusal = budget.refusal { throw refusal }
        if let failure = budget.failure { throw TandemError(.storage, failure.message) }
    }
}
