/// What the daemon says of itself; the names stay, so that scripts may look for them.
///
/// A line is `name: key=value key=value message="…"`. The table of all events stands on the page Outside; a test
/// compares it with this list.
public enum LogEvent: String, CaseIterable, Sendable {
    /// The daemon serves.
    case ready
    /// It was told to stop.
    case stopping
    /// It stopped as told.
    case stopped
    /// It can't start or can't go on.
    case failed
    /// Roles and limits were read again and count.
    case reloaded
    /// The configuration was to be read again, and can't be.
    case reloadFailed = "reload-failed"
    /// A torn last batch was cut off the journal.
    case tornBatchCut = "torn-batch-cut"
    /// The journal begins later than retention left it.
    case segmentsMissing = "segments-missing"
    /// What the journal had beyond the store was applied.
    case replayed
    /// A model was installed.
    case modelInstalled = "model-installed"
    /// Derived texts that were folded by other tables of Unicode could not be made anew.
    case derivedStale = "derived-stale"
    /// The store nears its quota.
    case mapFilling = "map-filling"
    /// Saves are refused for want of room.
    case readOnly = "read-only"
    /// Saves are taken again.
    case writable
    /// It stops without a last checkpoint; the journal has what is missing.
    case checkpointMissed = "checkpoint-missed"
    /// A flush, a checkpoint or the answer to a request took long.
    case slow
    /// Segments of the journal were given up.
    case journalTrimmed = "journal-trimmed"
    /// Segments of the journal could not be given up.
    case trimFailed = "trim-failed"
    /// A consumer needs what was given up.
    case consumerExpired = "consumer-expired"
    /// Readers of the store died; what they held is free again.
    case readersFreed = "readers-freed"
    /// A reader of the store keeps old pages from being used again.
    case readerLags = "reader-lags"
    /// A connection was not taken in.
    case connectionRefused = "connection-refused"
    /// A connection was ended because of what its client did.
    case connectionDropped = "connection-dropped"
    /// A client asked for what its role does not allow.
    case denied
    /// Lines of an event were withheld, as there were too many.
    case linesWithheld = "lines-withheld"
    /// A client said hello.
    case connectionOpened = "connection-opened"
    /// A client went.
    case connectionClosed = "connection-closed"
    /// A save was refused; its error is the client's.
    case saveRefused = "save-refused"
    /// A save is durable and answered.
    case saved
    /// A batch was written and flushed.
    case flushed
    /// The store was committed.
    case checkpoint

    /// How much it matters.
    public var level: LogLevel {
        switch self {
        case .failed: .critical
        case .readOnly, .reloadFailed: .error
        case .mapFilling, .trimFailed, .consumerExpired, .readersFreed, .readerLags, .slow,
            .connectionRefused, .connectionDropped, .denied, .derivedStale,
            .linesWithheld, .segmentsMissing:
            .warning
        case .ready, .stopping, .stopped, .reloaded, .tornBatchCut, .modelInstalled,
            .writable,
            .checkpointMissed:
            .notice
        case .replayed, .journalTrimmed: .info
        case .connectionOpened, .connectionClosed, .saveRefused, .saved, .flushed, .checkpoint:
            .debug
        }
    }
}

/// How much a line of the log matters; the raw value is journald's priority.
public enum LogLevel: Int, Sendable, CaseIterable {
    /// The daemon can't go on.
    case critical = 2
    /// Something failed that should not.
    case error = 3
    /// Somebody did something wrong; the daemon goes on.
    case warning = 4
    /// What an operator wants to see.
    case notice = 5
    /// What explains the others.
    case info = 6
    /// Every connection, save, flush and checkpoint.
    case debug = 7

    /// The level of a name such as `notice`.
    public init?(name: String) {
        guard let level = LogLevel.allCases.first(where: { "\($0)" == name }) else { return nil }
        self = level
    }
}
