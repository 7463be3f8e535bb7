import Tandem

/// Where transactions are read from: a daemon, or the segments of a directory.
protocol LogSource: AnyObject {
    /// The oldest position that is kept, and the last there is; read anew each time.
    func bounds() throws -> (first: UInt64, last: UInt64)
    /// The model that counts at the end; nil where there is none to be had.
    func newestModel() throws -> CompiledModel?
    /// The model that a transaction is read with; nil when it is no longer to be had.
    func model(for transaction: Transaction) throws -> CompiledModel?
    /// The models that came after one that ``model(for:)`` gave, oldest first.
    func models(after model: CompiledModel) -> [CompiledModel]
    /// The models that the journal still installs, oldest first; none, unread, where there was only ever one.
    func installations() throws -> [Installation]
    /// A position as other processes take it; nil where log and epoch aren't known.
    func cursor(_ number: UInt64) -> Position?
    /// An object as the store has it, or had it at a position; nil where it has none or can't tell.
    func stored(_ story: ObjectStory, at position: UInt64) throws -> StoredObjectState?
    /// Reads forward what may meet a filter, until the end or until `body` gives false; with the bytes of each.
    func read(
        after floor: UInt64, through top: UInt64, _ filter: LogFilter,
        _ body: (Transaction, _ bytes: Int) throws -> Bool
    ) throws
    /// The time of the first transaction from a position on; nil at the end.
    func time(from position: UInt64) throws -> Int64?
    /// What could not be read on the way, said at the end.
    func conclude() throws
}

extension LogSource {
    /// The installations that migrated a store; its first model came to no objects.
    func migrations() throws -> [Installation] {
        try installations().filter { $0.model.version > 1 }
    }
}
