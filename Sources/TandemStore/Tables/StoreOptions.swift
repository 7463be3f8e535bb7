package import TandemModel
import TandemQuery

/// Settings of a store.
package struct StoreOptions: Hashable, Sendable {
    /// The maximum size of the store in bytes; a full store rejects further writes.
    package var quotaBytes = 1 << 40
    /// The maximum number of open read transactions of all processes together.
    package var readers = 126
    /// The number of positions for which save ids are kept.
    package var savesKept: UInt64 = 1_000_000
    /// The maximum number of recorded saves without effect; the oldest ones are removed first.
    package var unchangedKept = 65_536
    /// The maximum number of related objects read for one candidate, which takes about a quarter of
    /// a second.
    ///
    /// Every 64 bytes of a row or a long text count as another object. Eight members that are only
    /// listed count as one object. The limit is needed because a candidate is evaluated without
    /// interruption.
    package var objectReads = 1 << 18
    /// The maximum number of related objects read for all candidates of a request, which takes
    /// about ten seconds.
    package var requestReads = 1 << 24
    /// Whether transactions can be applied to a store that has lost objects or blobs.
    ///
    /// An update of a lost object inserts its row. Call ``Store/salvage(recovering:)`` afterwards.
    package var acceptsLosses = false
    /// The collation stamp for index keys; only tests change it.
    var collation = StoreOptions.programCollation
    /// The folding stamp for derived texts; only tests change it.
    var folding = StoreOptions.programFolding

    /// The collation stamp of this program's index keys.
    static let programCollation = "keys 1, Unicode \(UnicodeTables.version)"
    /// The folding stamp of this program's derived texts.
    static let programFolding = "Unicode \(UnicodeTables.version)"

    /// Creates the default options.
    package init() {}
}

/// The log and epoch to which a store belongs.
package struct StoreIdentity: Hashable, Sendable {
    /// The id of the log.
    package var log: LogID
    /// The epoch of the log.
    package var epoch: UInt32

    /// Creates an identity from a log and an epoch.
    package init(log: LogID, epoch: UInt32) {
        self.log = log
        self.epoch = epoch
    }

    var bytes: [UInt8] {
        StoreKey.number(log.high) + StoreKey.number(log.low) + Self.bytes(epoch)
    }

    init(_ bytes: UnsafeRawBufferPointer?, _ path: String) throws(StoreError) {
        guard let bytes, bytes.count == 20 else {
            throw StoreError(.damaged, "the store at \(path) does not name its log")
        }
        log = LogID(
            high: bytes.bigEndian(0, as: UInt64.self), low: bytes.bigEndian(8, as: UInt64.self))
        epoch = UInt32(littleEndian: bytes.loadUnaligned(fromByteOffset: 16, as: UInt32.self))
    }

    static func bytes(_ value: UInt32) -> [UInt8] {
        withUnsafeBytes(of: value.littleEndian) { Array($0) }
    }
}
