public import TandemModel

/// The object graph in LMDB: rows, links, indexes, unique keys, and the position they stand at.
///
/// A store is bound to one thread, the committer's. Its LMDB write transaction stays open: ``apply(_:)`` writes into it,
/// reads see it, ``checkpoint()`` commits it. What is not yet committed is in the journal: after a crash the store is at
/// its last checkpoint and the journal's tail is applied again.
///
/// State:
/// - `transaction`: the open write transaction; begun by the first access after a checkpoint.
/// - ``appliedPosition``: the last transaction that the open write transaction holds.
/// - ``checkpointPosition``: the last transaction that is on the disk.
/// - ``model``: the compiled model at ``appliedPosition``.
public final class Store {
    /// The directory of the store.
    public let path: String
    /// The last transaction that is applied.
    public internal(set) var appliedPosition: UInt64 = 0
    /// The last transaction that is durable in LMDB.
    public private(set) var checkpointPosition: UInt64 = 0
    /// The model, or nil in a store without one.
    public internal(set) var model: CompiledModel?
    /// The position at which the model was installed; rows of older transactions have another layout.
    public internal(set) var modelPosition: UInt64 = 0
    /// All object numbers from here on are unused and not leased.
    public internal(set) var nextNumber: ObjectNumber = 1
    /// Save ids of transactions below this position are forgotten.
    public internal(set) var saveFloor: UInt64 = 0
    /// The log that this store belongs to.
    public private(set) var identity: StoreIdentity
    /// How many changes were applied since the last checkpoint.
    public internal(set) var uncommittedChanges = 0
    /// How many changes were applied since the store was opened.
    public internal(set) var appliedChanges: UInt64 = 0

    let environment: LMDBEnvironment
    let tables: StoreTables
    let options: StoreOptions
    private var transaction: LMDBTransaction?

    /// The version of the format; a store of a newer one is refused.
    static let format: UInt32 = 1

    /// Opens the store in an existing directory, or creates one that belongs to `newIdentity`.
    ///
    /// Throws ``StoreError``: `notOurs` for a newer format, `failed` for whatever LMDB says.
    public static func open(
        path: String, newIdentity: @autoclosure () -> StoreIdentity,
        options: StoreOptions = StoreOptions()
    ) throws(StoreError) -> Store {
        let environment = try LMDBEnvironment(
            path: path, mapBytes: options.mapBytes, tables: StoreTables.count)
        let transaction = try environment.begin()
        let tables = try StoreTables(transaction, create: true)
        let format = try transaction.get(tables.meta, MetaKey.format.key)
            .map { $0.loadUnaligned(as: UInt32.self) }
        var identity = newIdentity()
        if let format {
            guard UInt32(littleEndian: format) == Store.format else {
                throw StoreError(
                    .notOurs,
                    "the store at \(path) has format \(format); this program knows "
                        + "\(Store.format): use the newer program")
            }
            identity = try StoreIdentity(
                try transaction.get(tables.meta, MetaKey.identity.key), path)
        } else {
            try transaction.put(tables.meta, MetaKey.format.key, StoreIdentity.bytes(Store.format))
            try transaction.put(tables.meta, MetaKey.identity.key, identity.bytes)
        }
        try transaction.commit()
        let store = Store(path, environment, tables, identity, options)
        try store.loadState()
        return store
    }

    private init(
        _ path: String, _ environment: LMDBEnvironment, _ tables: StoreTables,
        _ identity: StoreIdentity, _ options: StoreOptions
    ) {
        self.path = path
        self.environment = environment
        self.tables = tables
        self.identity = identity
        self.options = options
    }

    /// Ends the open transaction without keeping it and closes the environment.
    public func close() {
        transaction?.abort()
        transaction = nil
        environment.close()
    }

    // MARK: The open transaction

    /// The open write transaction, begun if there is none.
    var current: LMDBTransaction {
        get throws(StoreError) {
            if let transaction { return transaction }
            let begun = try environment.begin()
            transaction = begun
            return begun
        }
    }

    /// Commits what was applied; durable on return.
    ///
    /// Cost: the dirty pages and two flushes.
    public func checkpoint() throws(StoreError) {
        guard let open = transaction else { return }
        try writeState(open)
        transaction = nil
        try open.commit()
        checkpointPosition = appliedPosition
        uncommittedChanges = 0
    }

    /// Goes back to the last checkpoint; the journal has to be applied again from ``checkpointPosition``.
    public func revert() throws(StoreError) {
        transaction?.abort()
        transaction = nil
        try loadState()
    }

    /// Doubles the map after ``StoreError/Code/mapFull``; goes back to the last checkpoint.
    public func grow() throws(StoreError) {
        transaction?.abort()
        transaction = nil
        try environment.grow(to: environment.usage.mapBytes * 2)
        try loadState()
    }

    /// The size of the map in bytes, and how much of it is in use.
    public var usage: (mapBytes: Int, usedBytes: Int) { environment.usage }

    /// Takes the next `count` numbers out of circulation, durable on return.
    ///
    /// The high-water mark has to be on the disk before a number below it is handed out, so this is a checkpoint.
    public func leaseNumbers(_ count: UInt32) throws(StoreError) -> ObjectNumber {
        let first = nextNumber
        nextNumber += UInt64(count)
        _ = try current
        try checkpoint()
        return first
    }

    /// Makes the store belong to another epoch of its log, durable on return.
    public func setEpoch(_ epoch: UInt32) throws(StoreError) {
        identity.epoch = epoch
        try current.put(tables.meta, MetaKey.identity.key, identity.bytes)
        try checkpoint()
    }

    private func writeState(_ transaction: LMDBTransaction) throws(StoreError) {
        for (key, value) in [
            (MetaKey.applied, appliedPosition), (.modelPosition, modelPosition),
            (.leases, nextNumber), (.saveFloor, saveFloor),
        ] {
            try transaction.put(tables.meta, key.key, StoreKey.number(value))
        }
    }

    private func loadState() throws(StoreError) {
        let transaction = try environment.begin(readOnly: true)
        defer { transaction.abort() }
        func number(_ key: MetaKey) throws(StoreError) -> UInt64? {
            guard let bytes = try transaction.get(tables.meta, key.key), bytes.count == 8 else {
                return nil
            }
            return bytes.bigEndian(0, as: UInt64.self)
        }
        appliedPosition = try number(.applied) ?? 0
        checkpointPosition = appliedPosition
        modelPosition = try number(.modelPosition) ?? 0
        nextNumber = try number(.leases) ?? 1
        saveFloor = try number(.saveFloor) ?? 0
        uncommittedChanges = 0
        guard let bytes = try transaction.get(tables.meta, MetaKey.model.key) else {
            return model = nil
        }
        var reader = ByteReader(Array(bytes))
        do {
            model = try CompiledModel(from: &reader)
        } catch {
            throw StoreError(.damaged, "the model in the store at \(path) can't be read: \(error)")
        }
    }
}

/// Settings of a store.
public struct StoreOptions: Hashable, Sendable {
    /// The size of the memory map: address space, not memory or disk.
    ///
    /// It is doubled when it is full.
    public var mapBytes = 16 << 30
    /// Save ids are kept for this many positions.
    public var savesKept: UInt64 = 1_000_000
    /// At most this many saves without effect are remembered among them; beyond it the oldest are forgotten.
    public var unchangedKept = 65_536

    /// The defaults.
    public init() {}
}

/// Which log a store belongs to.
public struct StoreIdentity: Hashable, Sendable {
    /// The log.
    public var log: LogID
    /// The epoch of the log.
    public var epoch: UInt32

    /// The identity of a log and epoch.
    public init(log: LogID, epoch: UInt32) {
        self.log = log
        self.epoch = epoch
    }

    var bytes: [UInt8] {
        StoreKey.number(log.high) + StoreKey.number(log.low) + Self.bytes(epoch)
    }

    init(_ bytes: UnsafeRawBufferPointer?, _ path: String) throws(StoreError) {
        guard let bytes, bytes.count == 20 else {
            throw StoreError(.damaged, "the store at \(path) does not say which log it belongs to")
        }
        log = LogID(
            high: bytes.bigEndian(0, as: UInt64.self), low: bytes.bigEndian(8, as: UInt64.self))
        epoch = UInt32(littleEndian: bytes.loadUnaligned(fromByteOffset: 16, as: UInt32.self))
    }

    static func bytes(_ value: UInt32) -> [UInt8] {
        withUnsafeBytes(of: value.littleEndian) { Array($0) }
    }
}
