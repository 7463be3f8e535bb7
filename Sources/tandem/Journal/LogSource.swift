import Tandem

/// A source of transactions: a daemon, or the segments of a directory.
protocol LogSource: AnyObject {
    /// Returns the oldest kept position and the last one; both are read on every call.
    func bounds() throws -> (first: UInt64, last: UInt64)
    /// Returns the current model, or nil if none is available.
    func newestModel() throws -> CompiledModel?
    /// Returns the model of a transaction, or nil if it is no longer kept.
    func model(for transaction: Transaction) throws -> CompiledModel?
    /// Returns the models after one that ``model(for:)`` returned, oldest first.
    func models(after model: CompiledModel) -> [CompiledModel]
    /// Returns the model installations in the journal, oldest first.
    ///
    /// If the store has only ever had one model, the result is empty and nothing is read.
    func installations() throws -> [Installation]
    /// Returns a position that other processes accept, or nil if log and epoch are unknown.
    func cursor(_ number: UInt64) -> Position?
    /// Returns an object in the store as of a position, or nil if it is not available.
    func stored(_ history: ObjectHistory, at position: UInt64) throws -> StoredObjectState?
    /// Passes transactions that may match a filter to `body`, with their sizes, until it returns
    /// false.
    func read(
        after floor: UInt64, through top: UInt64, _ filter: LogFilter,
        _ body: (Transaction, _ bytes: Int) throws -> Bool
    ) throws
    /// Returns the time of the first transaction at a position or later, or nil at the end.
    func time(from position: UInt64) throws -> Int64?
    /// Reports damage that was found while reading.
    func conclude() throws
}

extension LogSource {
    /// Returns the model installations that migrated a store, without the store's first model.
    func migrations() throws -> [Installation] {
        try installations().filter { $0.model.version > 1 }
    }
}
