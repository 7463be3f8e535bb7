public import TandemModel
import TandemQuery

/// Settings of a store.
public struct StoreOptions: Hashable, Sendable {
    /// The most bytes that the store may use; then it takes nothing more.
    public var quotaBytes = 1 << 40
    /// Read transactions of all processes together.
    public var readers = 126
    /// Save ids are kept for this many positions.
    public var savesKept: UInt64 = 1_000_000
    /// At most this many saves without effect are remembered among them; beyond it the oldest are forgotten.
    public var unchangedKept = 65_536
    /// Related objects that a request may read for one candidate, in one piece, which takes a quarter of a second; 64 bytes of a
    /// row or of a long text count like another, and eight members that are only listed like one.
    public var objectReads = 1 << 18
    /// And for all its candidates, some ten seconds.
    public var requestReads = 1 << 24
    /// Whether transactions are applied to a store that has lost objects or contents: an update of
    /// a lost object inserts its row.
    ///
    /// Follow it with ``Store/salvage(recovering:)``.
    public var acceptsLosses = false
    /// What the keys of indexes are made by; other ones for tests.
    var collation = StoreOptions.programCollation
    /// What derived texts are folded by; other ones for tests.
    var folding = StoreOptions.programFolding

    /// What this program makes the keys of indexes by.
    static let programCollation = "keys 1, Unicode \(UnicodeTables.version)"
    /// What this program folds derived texts by.
    static let programFolding = "Unicode \(UnicodeTables.version)"

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
