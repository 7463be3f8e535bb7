import TandemIO

/// How a journal is kept.
public struct JournalOptions: Sendable {
    /// How big segments are, 64 MiB by default: big enough that making one is rare, small enough
    /// that retention, which drops whole segments, stays fine-grained.
    public var segmentBytes: Int = 64 << 20
    /// When an append returns.
    public var durability: Durability = .full
    /// How much is read through when the journal is opened.
    public var verification: Verification = .tail
    /// Where a log begins that does not exist yet; above 1 after a restore from a snapshot.
    public var firstPositionIfNew: UInt64 = 1
    /// Tells by what payloads are to be found; with it every sealed segment gets an index, without
    /// it none is made.
    public var payloadReading: PayloadReading?
    /// Makes the number that a segment's checksums begin with, so that nobody who only supplies
    /// payloads can forge a batch.
    ///
    /// Random by default.
    public var makeSalt: @Sendable () -> UInt32 = {
        ThisProcess.randomBytes(4).reduce(0) { $0 << 8 | UInt32($1) }
    }

    /// What is checked when a journal is opened.
    public enum Verification: Hashable, Sendable {
        /// Every byte of all segments: a second or two a gigabyte.
        case full
        /// Every byte of the last segment; of the others the header, the last batch, and that the
        /// next segment continues it.
        ///
        /// Whatever else is damaged is found when it is read.
        case tail
    }

    /// The default options.
    public init() {}
}

/// What was found and done when a journal was opened.
public struct RecoveryReport: Hashable, Sendable {
    /// Whether the log was created.
    public var created = false
    /// The bounds after recovery.
    public var bounds = LogBounds(first: 1, last: 0)
    /// Where the torn last batch began, if one was cut.
    public var cutOffset: UInt64?
    /// The copy of what was cut.
    public var tornCopy: String?
    /// Whether the epoch was raised, because transactions that were acknowledged with relaxed
    /// durability may be missing.
    public var raisedEpoch = false
    /// Reports segments that are missing before the first one although retention did not remove them, with the remedy; nil if none is missing.
    public var missing: String?

    /// A report of nothing.
    public init() {}
}
