import TandemModel

/// Reading a store, whether or not a daemon is running.
extension Store {
    /// Opens the store in a directory for reading; it shows the last checkpoint, and writes throw.
    ///
    /// Another process may have the store open, but this process must not. A private copy, which no
    /// other process uses, is read without a lock file. Close the store within a few seconds,
    /// because its pages can't be reused while it is open. Throws ``StoreError``.
    public static func openForReading(
        path: String, isPrivate: Bool = false
    ) throws(StoreError) -> Store {
        let environment = try LMDBEnvironment(
            path: path, mapBytes: nil, tables: StoreTables.count, readOnly: true,
            isLocking: !isPrivate)
        let transaction = try environment.begin(readOnly: true)
        let tables: StoreTables
        let identity: StoreIdentity
        do throws(StoreError) {
            tables = try StoreTables(transaction, create: false)
            identity = try checkedIdentity(transaction, tables, path)
        } catch {
            transaction.abort()
            throw error
        }
        try transaction.commit()
        let store = Store(path, environment, tables, identity, StoreOptions(), isReadOnly: true)
        try store.loadState()
        return store
    }

    private static func checkedIdentity(
        _ transaction: LMDBTransaction, _ tables: StoreTables, _ path: String
    ) throws(StoreError) -> StoreIdentity {
        guard let format = try transaction.get(tables.meta, MetaKey.format.key), format.count == 4
        else { throw StoreError(.notOurs, "the file at \(path) is not a store of Tandem") }
        let version = UInt32(littleEndian: format.loadUnaligned(as: UInt32.self))
        guard version == Store.format else {
            throw StoreError(
                .notOurs,
                "the store at \(path) has format \(version), but this program supports format "
                    + "\(Store.format); use the other program")
        }
        return try StoreIdentity(try transaction.get(tables.meta, MetaKey.identity.key), path)
    }

    /// Writes a compact copy of the last checkpoint to a file that must not exist; durable on
    /// return.
    ///
    /// Later transactions are not in the copy. Writers are not blocked. Cost: reads and writes
    /// every page in use.
    public func copyCheckpoint(
        to file: String, progress: (_ done: UInt64, _ total: UInt64) -> Void = { _, _ in }
    ) throws(StoreError) {
        try environment.copy(to: file, progress)
    }

    /// Frees the slots of dead readers, and returns their number.
    public func checkReaders() throws(StoreError) -> Int { try environment.checkReaders() }

    /// The current readers of the store in all processes.
    public var readers: StoreReaders { environment.readers }
}
