/// An event in the daemon's log; the names are stable, so that scripts can search for them.
///
/// A line is `name: key=value key=value message="…"`. The page `Observability.md` has a table of
/// all events; a test compares the table with this list.
package enum LogEvent: String, CaseIterable, Sendable {
    /// The daemon is ready to serve clients.
    case ready
    /// The daemon received a request to stop.
    case stopping
    /// The daemon has stopped on request.
    case stopped
    /// The daemon can't start or can't continue.
    case failed
    /// Roles and limits were reloaded, and are in effect.
    case reloaded
    /// The configuration could not be reloaded.
    case reloadFailed = "reload-failed"
    /// A torn last batch was removed from the journal.
    case tornBatchCut = "torn-batch-cut"
    /// Segments at the beginning of the journal are missing, but were not removed by retention.
    case segmentsMissing = "segments-missing"
    /// Journalled transactions that the store lacked were applied.
    case replayed
    /// A model was installed.
    case modelInstalled = "model-installed"
    /// Derived texts that were folded with other Unicode tables could not be folded again.
    case derivedStale = "derived-stale"
    /// The store is near its quota.
    case mapFilling = "map-filling"
    /// Saves are refused for lack of space.
    case readOnly = "read-only"
    /// Saves are accepted again.
    case writable
    /// The daemon stops without a final checkpoint; the journal contains the missing transactions.
    case checkpointMissed = "checkpoint-missed"
    /// A flush, a checkpoint or the answer to a request was slow.
    case slow
    /// Segments of the journal were removed.
    case journalTrimmed = "journal-trimmed"
    /// Segments of the journal could not be removed.
    case trimFailed = "trim-failed"
    /// A consumer needs segments that were removed.
    case consumerExpired = "consumer-expired"
    /// Readers of the store died, and their slots were freed.
    case readersFreed = "readers-freed"
    /// A reader of the store prevents the reuse of old pages.
    case readerLags = "reader-lags"
    /// A connection was not accepted.
    case connectionRefused = "connection-refused"
    /// A connection was ended because of its client's behaviour.
    case connectionDropped = "connection-dropped"
    /// A client's role does not allow its request.
    case denied
    /// Lines of an event were withheld, because there were too many.
    case linesWithheld = "lines-withheld"
    /// A client sent its hello.
    case connectionOpened = "connection-opened"
    /// A client disconnected.
    case connectionClosed = "connection-closed"
    /// A save was refused because of an error of the client.
    case saveRefused = "save-refused"
    /// A save is durable and answered.
    case saved
    /// A batch was written and flushed.
    case flushed
    /// The store was committed.
    case checkpoint

    /// The level at which the event is logged.
    package var level: LogLevel {
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

/// The importance of a log line; the raw value is journald's priority.
public enum LogLevel: Int, Sendable, CaseIterable {
    /// The daemon can't continue.
    case critical = 2
    /// An unexpected failure.
    case error = 3
    /// A mistake of a client or an operator; the daemon continues.
    case warning = 4
    /// An event of interest to an operator.
    case notice = 5
    /// Background information on normal operation.
    case info = 6
    /// Every connection, save, flush and checkpoint.
    case debug = 7

    /// Creates the level with a name such as `notice`.
    public init?(name: String) {
        guard let level = LogLevel.allCases.first(where: { "\($0)" == name }) else { return nil }
        self = level
    }
}
