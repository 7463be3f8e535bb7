package import TandemIO
package import TandemModel

/// Rebuilds a store from its journal (law 6), and replaces the old store with the new one.
///
/// The old store is never written to. It is kept until the new one is complete, checked and
/// durable.
package struct StoreRebuild {
    /// Returns the next transaction, or nil at the end of the journal.
    package typealias Feed = () throws -> EncodedTransaction?

    /// The number of object numbers to skip if the old store's high-water mark is unreadable.
    static let unknownLeases: UInt64 = 1 << 40

    private let path: String
    private let draft: String
    private let files: RealFileSystem
    private let options: StoreOptions

    /// Creates a rebuild of the store in the directory `path`, which no process may have open.
    package init(
        path: String, files: RealFileSystem = RealFileSystem(),
        options: StoreOptions = StoreOptions()
    ) {
        self.path = path
        draft = path + ".rebuilding"
        self.files = files
        self.options = options
    }

    /// Rebuilds the store of a log up to the position `last`, checks it, and returns the report of
    /// the check, which has no faults.
    ///
    /// The rebuild begins with `snapshot`, the LMDB file of a backup of the same log, or with an
    /// empty store. `feed` returns the transactions after a position, and is called again after
    /// each growth of the map. `beforeCheck` is called with the new store before the check. Throws
    /// ``StoreError`` and the errors of `feed`; the old store is then unchanged. Cost: applies all
    /// transactions.
    package func run(
        identity: StoreIdentity, through last: UInt64, snapshot: String? = nil,
        feed: (_ after: UInt64) throws -> Feed, beforeCheck: (Store) throws -> Void = { _ in }
    ) throws -> StoreReport {
        let mark = oldNumberMark()
        let consumers = oldConsumers()
        try files.removeTree(draft)
        do {
            try files.createDirectory(draft, mode: 0o700)
            if let snapshot {
                try FileCopy.copy(snapshot, to: draft + "/data.mdb", files)
            }
            let report = try build(
                identity, last, mark, consumers.copied, feed, beforeCheck)
            try swap()
            return report
        } catch {
            try? files.removeTree(draft)
            throw error
        }
    }

    /// Returns the high-water mark of leased numbers in the old store, or nil if it can't be read.
    ///
    /// If the result is nil, ``unknownLeases`` numbers are skipped.
    private func oldNumberMark() -> UInt64? {
        guard files.exists(path + "/data.mdb"), let old = try? Store.openForReading(path: path)
        else { return nil }
        defer { old.close() }
        return old.nextNumber
    }

    /// The consumers found in the old store.
    package struct OldConsumers: Hashable, Sendable {
        /// The consumers that are copied to the new store.
        package var copied: [Consumer] = []
        /// The names of the consumers whose positions can't be read.
        package var lost: [String] = []
        /// The reason why the old store and its consumers can't be read; nil if they can be read.
        package var failure: String?
        /// Whether the old store could be read.
        package var isKnown: Bool { failure == nil }
    }

    /// Returns the consumers that a rebuild copies from the old store, and those that are lost.
    ///
    /// Consumers are not in the journal, and neither are leases.
    package func oldConsumers() -> OldConsumers {
        var found = OldConsumers()
        guard files.exists(path + "/data.mdb") else {
            found.failure = "there is no file \(path)/data.mdb"
            return found
        }
        do throws(StoreError) {
            let old = try Store.openForReading(path: path)
            defer { old.close() }
            try old.current.scan(old.tables.consumers, from: []) { key, value in
                if let consumer = Consumer(key: key, value: value) {
                    found.copied.append(consumer)
                } else {
                    found.lost.append(Consumer.name(Array(key)))
                }
                return true
            }
        } catch {
            found.failure = error.message
        }
        return found
    }

    private func build(
        _ identity: StoreIdentity, _ last: UInt64, _ mark: UInt64?, _ consumers: [Consumer],
        _ feed: (UInt64) throws -> Feed, _ beforeCheck: (Store) throws -> Void
    ) throws -> StoreReport {
        let store = try Store.open(path: draft, newIdentity: identity, options: options)
        defer { store.close() }
        guard store.identity.log == identity.log else {
            throw StoreError(.notOurs, "the backup and the journal belong to different logs")
        }
        while store.appliedPosition < last || store.checkpointPosition < last {
            try apply(feed(store.appliedPosition), store, last)
            try store.checkpoint()
        }
        for var consumer in consumers {
            consumer.acknowledged = min(consumer.acknowledged, last)
            try store.put(consumer)
        }
        // Journalled texts may have been folded with different Unicode tables; the daemon folds
        // them again.
        try store.forgetFolding()
        try store.setEpoch(identity.epoch)
        try store.skipNumbers(to: mark ?? (store.nextNumber &+ Self.unknownLeases))
        try beforeCheck(store)
        let report = try store.check()
        guard report.isClean else {
            throw StoreError(
                .damaged,
                "the store built from the journal has \(report.found) faults, the first: "
                    + "\(report.findings[0]); restore a backup")
        }
        return report
    }

    private func apply(_ feed: Feed, _ store: Store, _ last: UInt64) throws {
        while store.appliedPosition < last {
            guard let next = try feed() else {
                throw StoreError(
                    .damaged,
                    "the journal ended at position \(store.appliedPosition) instead of \(last); "
                        + "run `tandem verify -D DIR` to see where")
            }
            try store.apply(next)
            if store.isReplayFull { try store.checkpoint() }
        }
    }

    /// Atomically replaces the old file with the new one.
    private func swap() throws {
        try files.createDirectory(path, mode: 0o700)
        try files.rename(draft + "/data.mdb", to: path + "/data.mdb")
        try files.syncDirectory(path)
        try files.removeTree(draft)
    }
}
