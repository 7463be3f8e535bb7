public import TandemIO
public import TandemModel

/// Builds the store anew from the journal (law 6), beside the old one, and puts it in its place.
///
/// The old store stays until the new one is whole, checked and durable; it is never written to.
public struct StoreRebuild {
    /// The next transaction; nil at the end of the journal.
    public typealias Feed = () throws -> EncodedTransaction?

    /// Numbers left out above the last in use when the old store can't say up to where they were leased.
    static let unknownLeases: UInt64 = 1 << 40

    private let path: String
    private let draft: String
    private let files: RealFileSystem
    private let options: StoreOptions

    /// A rebuild of the store in the directory `path`, which nobody has open.
    public init(
        path: String, files: RealFileSystem = RealFileSystem(),
        options: StoreOptions = StoreOptions()
    ) {
        self.path = path
        draft = path + ".rebuilding"
        self.files = files
        self.options = options
    }

    /// Rebuilds the store of a log up to the position `last`.
    ///
    /// It begins with the `snapshot`, the LMDB file of a backup of the same log, or with nothing.
    /// `feed` gives the transactions after a position; it is asked again when the map has to grow.
    /// Throws ``StoreError`` and what `feed` throws, with the old store as it was. `beforeCheck` is
    /// called with the new store before it is checked. Returns the report of that check, which is
    /// clean. Cost: applies everything.
    public func run(
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
                identity, last, mark, consumers.kept, feed, beforeCheck)
            try swap()
            return report
        } catch {
            try? files.removeTree(draft)
            throw error
        }
    }

    /// The mark of leased numbers in the old store, if that can still be read; else ``unknownLeases`` are left out instead.
    private func oldNumberMark() -> UInt64? {
        guard files.exists(path + "/data.mdb"), let old = try? Store.openForReading(path: path)
        else { return nil }
        defer { old.close() }
        return old.nextNumber
    }

    /// What can be told of the consumers in the old store.
    public struct OldConsumers: Hashable, Sendable {
        /// Those that the new store takes over.
        public var kept: [Consumer] = []
        /// The names of those whose position can't be read.
        public var lost: [String] = []
        /// The reason why the old store, and so its consumers, can't be read; nil if it could be read.
        public var failure: String?
        /// Whether the old store could be read.
        public var isKnown: Bool { failure == nil }
    }

    /// The consumers that ``run(identity:through:snapshot:feed:)`` takes over, and those it can't.
    ///
    /// Consumers are not in the journal, as leases are not.
    public func oldConsumers() -> OldConsumers {
        var found = OldConsumers()
        guard files.exists(path + "/data.mdb") else {
            found.failure = "there is no \(path)/data.mdb"
            return found
        }
        do throws(StoreError) {
            let old = try Store.openForReading(path: path)
            defer { old.close() }
            try old.current.scan(old.tables.consumers, from: []) { key, value in
                if let consumer = Consumer(key: key, value: value) {
                    found.kept.append(consumer)
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
            throw StoreError(.notOurs, "the backup is of another log than the journal")
        }
        while store.appliedPosition < last || store.checkpointPosition < last {
            try apply(feed(store.appliedPosition), store, last)
            try store.checkpoint()
        }
        for var consumer in consumers {
            consumer.acknowledged = min(consumer.acknowledged, last)
            try store.put(consumer)
        }
        // The journal has them as programs of other tables may have folded them; the daemon looks.
        try store.forgetFolding()
        try store.setEpoch(identity.epoch)
        try store.skipNumbers(to: mark ?? (store.nextNumber &+ Self.unknownLeases))
        try beforeCheck(store)
        let report = try store.check()
        guard report.isClean else {
            throw StoreError(
                .damaged,
                "the journal gives a store with \(report.found) faults, the first: "
                    + "\(report.findings[0]); restore a backup")
        }
        return report
    }

    private func apply(_ feed: Feed, _ store: Store, _ last: UInt64) throws {
        while store.appliedPosition < last {
            guard let next = try feed() else {
                throw StoreError(
                    .damaged,
                    "the journal ended at \(store.appliedPosition) instead of \(last); "
                        + "run `tandem log -D` to see where")
            }
            try store.apply(next)
            if store.isReplayFull { try store.checkpoint() }
        }
    }

    /// Puts the new file in the old one's place, in one step.
    private func swap() throws {
        try files.createDirectory(path, mode: 0o700)
        try files.rename(draft + "/data.mdb", to: path + "/data.mdb")
        try files.syncDirectory(path)
        try files.removeTree(draft)
    }
}

extension Store {
    /// Takes all numbers below `number` out of circulation, durable on return.
    func skipNumbers(to number: ObjectNumber) throws(StoreError) {
        nextNumber = max(nextNumber, number)
        _ = try current
        try checkpoint()
    }
}
