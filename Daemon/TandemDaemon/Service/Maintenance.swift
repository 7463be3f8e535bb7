import TandemStore

/// What is looked at now and then behind a checkpoint: readers of the store that died, and how full its map is.
///
/// Only commits need what a dead reader holds back, so no timer wakes an idle daemon for it.
struct Maintenance {
    /// How many readers died without letting go of the store.
    private(set) var deadReaders = 0
    private var lastLook: UInt64 = 0
    private var isNearlyFull = false

    /// What an operator is to be told.
    enum Notice: Hashable {
        case deadReaders(Int)
        case oldReader(CommitLog.Lag)
        case nearlyFull(percent: Int)
    }

    /// Looks if it is time to; returns what is new.
    mutating func look(at committer: Committer, now: UInt64) throws -> [Notice] {
        guard now >= lastLook + DaemonLimits.readerCheckNanoseconds || lastLook == 0 else {
            return []
        }
        lastLook = now
        let dead = try committer.store.checkReaders()
        deadReaders += dead
        return notices(
            dead: dead, lag: committer.readerLag, percent: Self.percent(committer.store))
    }

    /// What is worth a line; that the map fills up is said once until it is emptier again.
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

    /// How many percent of the store's quota are in use.
    static func percent(_ store: Store) -> Int {
        store.usedBytes / max(1, store.quotaBytes / 100)
    }
}

extension Maintenance.Notice {
    /// What it is in the log.
    var event: LogEvent {
        switch self {
        case .deadReaders: .readersFreed
        case .oldReader: .readerLags
        case .nearlyFull: .mapFilling
        }
    }

    /// Its number.
    var fields: KeyValuePairs<String, any CustomStringConvertible> {
        switch self {
        case .deadReaders(let count): ["readers": count]
        case .oldReader(let lag): ["seconds": lag.seconds, "mebibytes": lag.bytes >> 20]
        case .nearlyFull(let percent): ["percent": percent]
        }
    }

    /// What it means and what to do.
    var advice: String {
        switch self {
        case .deadReaders: "readers of the store died; what they held is freed"
        case .oldReader: "a reader of the store lags behind, so the file grows; end it"
        case .nearlyFull: "the store comes near its quota; delete objects or raise mapBytes"
        }
    }
}
