import TandemIO

/// The options of a journal.
public struct JournalOptions: Sendable {
    /// The size of a segment in bytes, 64 MiB by default.
    ///
    /// A segment should be large enough that segments are rarely created, and small enough that
    /// retention, which removes whole segments, stays fine-grained.
    public var segmentBytes: Int = 64 << 20
    /// The guarantee that an append gives when it returns.
    public var durability: Durability = .full
    /// The extent of verification when the journal is opened.
    public var verification: Verification = .tail
    /// The first position of a new log; higher than 1 after a restore from a snapshot.
    public var firstPositionIfNew: UInt64 = 1
    /// Returns the keys by which payloads are found.
    ///
    /// If it is set, every sealed segment gets an index; otherwise none is built.
    public var payloadReading: PayloadReading?
    /// Returns the number with which a segment's checksums begin.
    ///
    /// Random by default, which prevents anyone who merely supplies payloads from forging a batch.
    public var makeSalt: @Sendable () -> UInt32 = {
        ThisProcess.randomBytes(4).reduce(0) { $0 << 8 | UInt32($1) }
    }

    /// The extent of verification when a journal is opened.
    public enum Verification: Hashable, Sendable {
        /// Every byte of every segment is checked, which takes a second or two per gigabyte.
        case full
        /// Every byte of the last segment is checked.
        ///
        /// For other segments, the header, the last batch and the continuation by the next segment
        /// are checked.
        ///
        /// Other damage is found when the damaged data is read.
        case tail
    }

    /// The default options.
    public init() {}
}

/// The outcome of opening a journal: its bounds, and the repairs that recovery made.
public struct RecoveryReport: Hashable, Sendable {
    /// Whether the log was created.
    public var created = false
    /// The bounds after recovery.
    public var bounds = LogBounds(first: 1, last: 0)
    /// The offset of the torn last batch, if one was cut.
    public var cutOffset: UInt64?
    /// The path of the copy of the cut data.
    public var tornCopy: String?
    /// Whether the epoch was raised, because transactions acknowledged with relaxed durability may
    /// be missing.
    public var raisedEpoch = false
    /// A message, with the remedy, about segments that are missing at the beginning although
    /// retention did not remove them; nil if there are none.
    public var missing: String?

    /// Creates an empty report.
    public init() {}
}
