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
        case oldReader(lag: UInt64)
        case nearlyFull(percent: Int)
    }

    /// Looks if it is time to; returns what is new.
    mutating func look(at store: Store, now: UInt64) throws -> [Notice] {
        guard now >= lastLook + DaemonLimits.readerCheckNanoseconds || lastLook == 0 else {
            return []
        }
        lastLook = now
        let dead = try store.checkReaders()
        deadReaders += dead
        return notices(dead: dead, lag: store.readers.oldestLag, percent: Self.percent(store))
    }

    /// What is worth a line; that the map fills up is said once until it is emptier again.
    mutating func notices(dead: Int, lag: UInt64, percent: Int) -> [Notice] {
        var notices: [Notice] = []
        if dead > 0 { notices.append(.deadReaders(dead)) }
        if lag >= DaemonLimits.readerLag { notices.append(.oldReader(lag: lag)) }
        let isFull = percent >= DaemonLimits.mapAlertPercent
        if isFull, !isNearlyFull { notices.append(.nearlyFull(percent: percent)) }
        isNearlyFull = isFull
        return notices
    }

    /// How much is in use of the size beyond which the map does not grow, of 100.
    static func percent(_ store: Store) -> Int {
        store.usage.usedBytes / max(1, store.maximumMapBytes / 100)
    }
}

extension Maintenance.Notice {
    /// The line for the log.
    var line: String {
        switch self {
        case .deadReaders(let count):
            "freed what \(count) readers of the store held that died"
        case .oldReader(let lag):
            "a reader of the store lags \(lag) checkpoints behind, so the file grows; end it"
        case .nearlyFull(let percent):
            "the store's map is \(percent) % full; delete objects or allow it more"
        }
    }
}
