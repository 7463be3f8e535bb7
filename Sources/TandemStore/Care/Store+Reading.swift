import TandemModel

/// A store as a reader sees it: beside the daemon, or when there is none.
extension Store {
    /// Opens the store in a directory for reading; it sees the last checkpoint, and writing throws.
    ///
    /// Another process may have the store open, this one must not. What is `isPrivate`, a copy that nobody else knows
    /// of, is read without a lock file. Keep it for seconds: pages that it sees are not used again meanwhile.
    /// Throws ``StoreError``.
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
        else { throw StoreError(.notOurs, "what lies in \(path) is no store of Tandem's") }
        let version = UInt32(littleEndian: format.loadUnaligned(as: UInt32.self))
        guard version == Store.format else {
            throw StoreError(
                .notOurs,
                "the store at \(path) has format \(version); this program knows "
                    + "\(Store.format): use the other program")
        }
        return try StoreIdentity(try transaction.get(tables.meta, MetaKey.identity.key), path)
    }

    /// Writes a compact copy of the last checkpoint to a file that must not exist; durable on return.
    ///
    /// What was applied since is not in it. Writers are not held up. Cost: reads and writes every page in use.
    public func copyCheckpoint(
        to file: String, progress: (_ done: UInt64, _ total: UInt64) -> Void = { _, _ in }
    ) throws(StoreError) {
        try environment.copy(to: file, progress)
    }

    /// Frees what readers that died held on to; returns how many there were.
    public func checkReaders() throws(StoreError) -> Int { try environment.checkReaders() }

    /// Who reads the store at the moment, in any process.
    public var readers: StoreReaders { environment.readers }
}
