import TandemModel

/// The outcome of a search for the objects of a batch.
struct SearchOutcome {
    let read: PendingRead
    let result: Result

    enum Result {
        /// The objects found, and the position of the search.
        case found(BatchSearch.Result, position: UInt64)
        case failed(TandemError)
    }
}
