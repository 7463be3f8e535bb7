import Tandem

/// Durations that belong to a picture of transactions, and what they are of.
struct SaveDurations {
    var title: String
    /// What is counted, in one sentence.
    var note: String
    var durations: Durations

    /// How long saves took, as a daemon's status has it; nil where it says nothing of saves.
    ///
    /// A transaction has one time only, so the journal can't say how long a save took. The daemon counts it from the arrival of a save to
    /// its answer, for all saves since it began.
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
            + "batches excluded, each from arrival to answer"
    }

    /// The times between transactions, where nobody knows how long saves took.
    init(between durations: Durations) {
        self.durations = durations
        title = "Time between transactions"
        note = "the journal alone does not have how long saves took; a daemon does"
    }

    /// What is shown of them.
    var marks: [(label: String, microseconds: Int64)] {
        let shares = [("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("p99.9", 0.999)]
        let found = shares.compactMap { label, share in
            durations.percentile(share).map { (label, $0) }
        }
        return found.isEmpty ? [] : found + [("longest", durations.longest)]
    }

    /// A mark as people read it; buckets tell no more than what was not exceeded.
    static func text(_ mark: (label: String, microseconds: Int64)) -> String {
        (mark.label == "longest" ? "" : "≤ ") + Quantity.duration(mark.microseconds)
    }
}
