import TandemStore

/// Periodic checks after a checkpoint: for dead readers of the store, and for a nearly full store.
///
/// Only commits need the pages that a dead reader holds, so no timer wakes an idle daemon.
struct Maintenance {
    /// The number of readers that died without releasing their slots in the store.
    private(set) var deadReaders = 0
    private var lastCheck: UInt64 = 0
    private var isNearlyFull = false

    /// A notice for the operator.
    enum Notice: Hashable {
        case deadReaders(Int)
        case oldReader(CommitLog.Lag)
        case nearlyFull(percent: Int)
    }

    /// Runs the checks if they are due; returns new notices.
    mutating func check(_ committer: Committer, now: UInt64) throws -> [Notice] {
        guard now >= lastCheck + DaemonLimits.readerCheckNanoseconds || lastCheck == 0 else {
            return []
        }
        lastCheck = now
        let dead = try committer.store.checkReaders()
        deadReaders += dead
        return notices(
            dead: dead, lag: committer.readerLag, percent: Self.percent(committer.store))
    }

    /// Returns the notices worth logging.
    ///
    /// A nearly full store is reported once, and again only after its usage has fallen below the
    /// threshold.
    mutating func notices(dead: Int, lag: CommitLog.Lag, percent: Int) -> [Notice] {
        var notices: [Notice] = []
        if dead > 0 { notices.append(.deadReaders(dead)) }
        if lag.seconds >= DaemonLimits.readerLagSeconds || lag.bytes >= DaemonLimits.readerLagBytes
        {
            notices.append(.oldReader(lag))
        }
        let isFull = percent >= DaemonLimits.mapAlertPercent
        if isFull, !isNearlyFull { notices.append(.nearlyFull(percent: percent)) }
        isNearlyFull = isFull
        return notices
    }

    /// Returns the used percentage of the store's quota.
    static func percent(_ store: Store) -> Int {
        store.quotaUsedBytes / max(1, store.quotaBytes / 100)
    }
}

extension Maintenance.Notice {
    /// The log event of the notice.
    var event: LogEvent {
        switch self {
        case .deadReaders: .readersFreed
        case .oldReader: .readerLags
        case .nearlyFull: .mapFilling
        }
    }

    /// The fields of the log line.
    var fields: KeyValuePairs<String, any CustomStringConvertible> {
        switch self {
        case .deadReaders(let count): ["readers": count]
        case .oldReader(let lag): ["seconds": lag.seconds, "mebibytes": lag.bytes >> 20]
        case .nearlyFull(let percent): ["percent": percent]
        }
    }

    /// The meaning of the notice and the remedy.
    var advice: String {
        switch self {
        case .deadReaders: "readers of the store have died; their snapshots were released"
        case .oldReader: "a reader of the store lags, so the file grows; end the reader"
        case .nearlyFull:
            "the store is near its quota; raise mapBytes and restart the daemon, or delete objects "
                + "while deletions still fit"
        }
    }
}
