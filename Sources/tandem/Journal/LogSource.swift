import Tandem

/// A source of transactions: a daemon, or the segments of a directory.
protocol LogSource: AnyObject {
    /// Returns the first and the last position of the journal; both are read on every call.
    func bounds() throws -> (first: UInt64, last: UInt64)
    /// Returns the current model, or nil if none is available.
    func newestModel() throws -> CompiledModel?
    /// Returns the model of a transaction, or nil if the model is no longer kept.
    func model(for transaction: Transaction) throws -> CompiledModel?
    /// Returns the models after the given one, oldest first; the given one must come from
    /// ``model(for:)``.
    func models(after model: CompiledModel) -> [CompiledModel]
    /// Returns the model installations in the journal, oldest first.
    ///
    /// If the store never had another model, the result is empty, and the journal is not read.
    func installations() throws -> [Installation]
    /// Returns a position with log and epoch, or nil if they are unknown.
    func cursor(_ number: UInt64) -> Position?
    /// Returns the state of an object at a position as read from the store, or nil if the store
    /// can't provide it.
    func stored(_ history: ObjectHistory, at position: UInt64) throws -> StoredObjectState?
    /// Passes the transactions of a range to `body`, with their sizes, until it returns false.
    ///
    /// Transactions that do not match the filter may be skipped.
    func read(
        after floor: UInt64, through top: UInt64, _ filter: LogFilter,
        _ body: (Transaction, _ bytes: Int) throws -> Bool
    ) throws
    /// Returns the time of the first transaction at a position or later, or nil at the end.
    func time(from position: UInt64) throws -> Int64?
    /// Throws a failure if damage was found while reading.
    func throwIfDamaged() throws
}

extension LogSource {
    /// Returns the model installations that migrated a store, without the store's first model.
    func migrations() throws -> [Installation] {
        try installations().filter { $0.model.version > 1 }
    }
}
