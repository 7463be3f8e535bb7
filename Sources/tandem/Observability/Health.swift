import Tandem

/// The problems of a daemon, determined from its status.
///
/// The initialiser only reads its arguments, so that each rule can be tested without a daemon.
struct Health {
    /// The thresholds at which a value counts as a problem.
    struct Thresholds {
        /// The percentage of the store's quota in use.
        var mapPercent = 80
        /// The percentage of the journal's cap in use, if a reader needs the oldest tenth of the
        /// journal.
        var journalPercent = 90
        /// The lag of a client or consumer, in positions.
        var lag: Int64 = 100_000
        /// The lag of a reader of the store's file, in seconds.
        var readerLag: Int64 = 60
    }

    /// A problem.
    struct Problem: Hashable {
        /// The name of the problem, which never changes.
        var name: String
        /// The problem and its remedy.
        var message: String
    }

    private(set) var problems: [Problem] = []

    init(_ status: JSON, _ thresholds: Thresholds) {
        checkSaves(status)
        checkStore(status, thresholds)
        checkRetention(status, thresholds)
        checkReaders(status, thresholds)
    }

    private mutating func add(_ name: String, _ message: String) {
        problems.append(Problem(name: name, message: message))
    }

    private mutating func checkSaves(_ status: JSON) {
        if status["readOnly"]?.bool == true {
            add("read-only", "the daemon is read-only: \(status["readOnlyReason"]?.string ?? "?")")
        } else if let failure = status["spareFailure"]?.string {
            add("no-spare-segment", "the journal's next segment cannot be created: \(failure)")
        }
    }

    private mutating func checkStore(_ status: JSON, _ thresholds: Thresholds) {
        if let percent = status["usedPercent"]?.int, percent >= Int64(thresholds.mapPercent) {
            add(
                "map",
                "the store uses \(percent) % of its quota: raise mapBytes and restart the daemon, or "
                    + "delete objects while deletions still fit")
        }
        if let lag = status["oldestReaderSeconds"]?.int, lag >= thresholds.readerLag {
            let bytes = (status["oldestReaderBytes"]?.int ?? 0) >> 20
            add(
                "reader",
                "a reader of the store lags by \(lag) s and \(bytes) MiB, so the file grows: "
                    + "end the reader"
            )
        }
    }

    private mutating func checkRetention(_ status: JSON, _ thresholds: Thresholds) {
        let retention = status["retention"]
        if let failure = retention?["failure"]?.string {
            add("trim", "old segments of the journal cannot be removed: \(failure)")
        }
        guard let bytes = retention?["bytes"]?.number, let cap = retention?["capBytes"]?.number,
            let first = status["journalFirst"]?.number, let last = status["position"]?.number
        else { return }
        let percent = Int(bytes * 100 / max(1, cap))
        guard percent >= thresholds.journalPercent else { return }
        let oldest = first + (last - first) / 10
        for name in Self.needs(status, below: oldest) {
            add(
                "journal-cap",
                "the journal is at \(percent) % of its cap, and \(name) needs its oldest segments")
        }
    }

    /// Returns the readers that need positions below the given one and have not expired yet.
    private static func needs(_ status: JSON, below position: Double) -> [String] {
        let consumers = (status["consumers"]?.array ?? []).filter {
            $0["expired"]?.bool != true && ($0["acknowledged"]?.number ?? position) < position
        }
        let clients = (status["clients"]?.array ?? []).filter {
            ($0["lag"]?.int ?? 0) > 0 && ($0["position"]?.number ?? position) < position
        }
        return consumers.map { "consumer \($0["name"]?.string ?? "?")" }
            + clients.map { "client \(Self.name($0))" }
    }

    private mutating func checkReaders(_ status: JSON, _ thresholds: Thresholds) {
        if let failure = status["consumersFailure"]?.string {
            add("consumers", "the consumers cannot be read: \(failure)")
        }
        for consumer in status["consumers"]?.array ?? [] {
            let name = consumer["name"]?.string ?? "?"
            if consumer["expired"]?.bool == true {
                add(
                    "consumer-expired",
                    "consumer \(name) needs removed transactions: start it again from a snapshot")
            } else if let lag = consumer["lag"]?.int, lag >= thresholds.lag {
                add("consumer-lag", "consumer \(name) lags \(lag) positions")
            }
        }
        for client in status["clients"]?.array ?? [] {
            guard let lag = client["lag"]?.int, lag >= thresholds.lag else { continue }
            add("client-lag", "client \(Self.name(client)) lags \(lag) positions")
        }
    }

    private static func name(_ client: JSON) -> String {
        "\(client["id"]?.shown ?? "?") (\(client["author"]?.shown ?? "?"), "
            + "pid \(client["pid"]?.shown ?? "?"))"
    }

    /// The result as a JSON object for scripts.
    var json: JSON {
        .object([
            "state": .string(problems.isEmpty ? "healthy" : "degraded"),
            "problems": .array(
                problems.map {
                    .object(["name": .string($0.name), "message": .string($0.message)])
                }),
        ])
    }
}
