import TandemModel

/// The state of a store at a checkpoint, apart from its tables of objects: positions and marks.
struct StoreState {
    /// The last applied position.
    var applied: UInt64 = 0
    /// The position at which the model was installed.
    var modelPosition: UInt64 = 0
    /// The lowest object number above all numbers that are used or leased.
    var nextNumber: ObjectNumber = 1
    /// The position below which save ids are no longer known.
    var saveFloor: UInt64 = 0

    init(
        applied: UInt64, modelPosition: UInt64, nextNumber: ObjectNumber, saveFloor: UInt64
    ) {
        (self.applied, self.modelPosition) = (applied, modelPosition)
        (self.nextNumber, self.saveFloor) = (nextNumber, saveFloor)
    }

    /// Reads the state; throws `damaged` for a number with a wrong length.
    init(
        in transaction: LMDBTransaction, _ meta: LMDBTable, _ decoder: EntryDecoder
    ) throws(StoreError) {
        func number(_ key: MetaKey) throws(StoreError) -> UInt64? {
            guard let bytes = try transaction.get(meta, key.key) else { return nil }
            guard bytes.count == 8 else {
                throw decoder.damaged(.meta, 0, "a \(key.rawValue) of \(bytes.count) bytes")
            }
            return bytes.bigEndian(0, as: UInt64.self)
        }
        applied = try number(.applied) ?? 0
        modelPosition = try number(.modelPosition) ?? 0
        nextNumber = try number(.leases) ?? 1
        saveFloor = try number(.saveFloor) ?? 0
    }

    /// Writes the state, to be committed with the transaction.
    func write(to meta: LMDBTable, _ transaction: LMDBTransaction) throws(StoreError) {
        for (key, value) in [
            (MetaKey.applied, applied), (.modelPosition, modelPosition), (.leases, nextNumber),
            (.saveFloor, saveFloor),
        ] {
            try transaction.put(meta, key.key, StoreKey.number(value))
        }
    }

    /// Reads the model, or returns nil if none is installed.
    static func model(
        in transaction: LMDBTransaction, _ meta: LMDBTable, _ path: String
    ) throws(StoreError) -> CompiledModel? {
        guard let bytes = try transaction.get(meta, MetaKey.model.key) else { return nil }
        var reader = ByteReader(Array(bytes))
        do {
            return try CompiledModel(from: &reader)
        } catch {
            throw StoreError(.damaged, "the model in the store at \(path) cannot be read: \(error)")
        }
    }
}

/// The hashes of models that were installed or served, the latest one last.
struct KnownModels {
    /// The maximum number of known model hashes.
    static let capacity = 64

    private(set) var hashes: [StableHash] = []

    init() {}

    /// Decodes the hashes; the result is empty if the bytes have a wrong length.
    init(_ bytes: UnsafeRawBufferPointer?) {
        guard let bytes, bytes.count % 16 == 0 else { return }
        hashes = stride(from: 0, to: bytes.count, by: 16).map {
            StableHash(
                first: bytes.bigEndian($0, as: UInt64.self),
                second: bytes.bigEndian($0 + 8, as: UInt64.self))
        }
    }

    /// Makes a hash the latest one, and drops the oldest ones above the limit.
    mutating func add(_ hash: StableHash) {
        hashes = hashes.filter { $0 != hash } + [hash]
        hashes.removeFirst(max(0, hashes.count - Self.capacity))
        assert(
            hashes.count <= Self.capacity && hashes.last == hash,
            "The latest hash is last, and the number of hashes is bounded.")
    }

    /// The encoded hashes.
    var bytes: [UInt8] {
        hashes.flatMap { StoreKey.number($0.first) + StoreKey.number($0.second) }
    }
}
