import Tandem

/// The durations shown below a chart of transactions.
struct SaveDurations {
    var title: String
    /// A description of the durations' origin.
    var note: String
    var durations: Durations

    /// Creates the durations of saves in a daemon's status; nil if it has none.
    ///
    /// The journal does not record how long a save took: a transaction has a single time. The
    /// daemon measures all saves since its start, each from its arrival to its answer.
    init?(status: JSON) {
        guard let save = status["histograms"]?["save"],
            let bounds = save["boundsMicroseconds"]?.array?.compactMap(\.int),
            let counts = save["counts"]?.array?.compactMap(\.int),
            let longest = save["longestMicroseconds"]?.int,
            let durations = Durations(
                bounds: bounds, counts: counts.map { Int($0) }, longest: longest)
        else { return nil }
        self.durations = durations
        title = "Save latency"
        let age = status["uptimeSeconds"]?.number.map { seconds in
            " \(Quantity.duration(Int64(min(seconds, 1e12) * 1_000_000))) ago"
        }
        note =
            "\(Quantity.count(durations.count, "save")) since the daemon started\(age ?? ""), "
            + "without batches, from arrival to answer"
    }

    /// Creates the times between transactions, for a journal whose save durations are unknown.
    init(between durations: Durations) {
        self.durations = durations
        title = "Time between transactions"
        note = "the journal does not record how long saves took; a daemon reports latencies"
    }

    /// The percentiles to show, and the longest duration.
    var marks: [(label: String, microseconds: Int64)] {
        let shares = [("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("p99.9", 0.999)]
        let found = shares.compactMap { label, share in
            durations.percentile(share).map { (label, $0) }
        }
        return found.isEmpty ? [] : found + [("longest", durations.longest)]
    }

    /// Returns the text for a percentile, which is the upper bound of a bucket, or for the longest
    /// duration.
    static func text(_ mark: (label: String, microseconds: Int64)) -> String {
        (mark.label == "longest" ? "" : "≤ ") + Quantity.duration(mark.microseconds)
    }
}
