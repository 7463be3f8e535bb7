import TandemModel

/// The metrics of a daemon, read from its status: families of samples, each with a help text.
///
///     var metrics = DaemonMetrics()
///     metrics.gauge("tandem_read_only", "1 while saves are refused", 0)
package struct DaemonMetrics: Sendable {
    /// The label names and values of a sample.
    package typealias Labels = [(name: String, value: String)]

    /// Samples of one name, distinguished by labels.
    package struct Family: Sendable {
        package let name: String
        package let help: String
        package let content: Content
    }

    /// The kinds of families, with their samples.
    package enum Content: Sendable {
        /// Numbers that can rise and fall.
        case gauges([(labels: Labels, value: Double)])
        /// Numbers that only rise while the daemon runs; the family's name ends in `_total`.
        case counters([(labels: Labels, value: Double)])
        /// The distribution of durations.
        case histogram(Histogram)
    }

    /// The number of durations up to each bound.
    package struct Histogram: Sendable {
        /// The upper bounds in seconds, in ascending order.
        package let bounds: [Double]
        /// The number of durations between each bound and the one before it, and finally of those
        /// above the last bound.
        package let counts: [Double]
        /// The sum of all durations, in seconds.
        package let sum: Double

        /// The number of all durations.
        package var count: Double { counts.reduce(0, +) }

        /// Decodes the form of the daemon's status; returns nil if the JSON is nil or invalid.
        fileprivate init?(_ json: JSON?) {
            guard let bounds = json?["boundsMicroseconds"]?.array?.compactMap(\.number),
                let counts = json?["counts"]?.array?.compactMap(\.number),
                let sum = json?["sumMicroseconds"]?.number, counts.count == bounds.count + 1
            else { return nil }
            self.bounds = bounds.map { $0 / 1_000_000 }
            self.counts = counts
            self.sum = sum / 1_000_000
        }
    }

    /// The families in the order in which they were added.
    package private(set) var families: [Family] = []

    /// Creates an empty list of metrics.
    init() {}

    /// The metrics if no daemon answers.
    package static var down: DaemonMetrics {
        var metrics = DaemonMetrics()
        metrics.addUp(false)
        return metrics
    }

    /// Adds whether the daemon answers.
    mutating func addUp(_ isUp: Bool) {
        gauge("tandem_up", "1 if the daemon answers", isUp ? 1 : 0)
    }

    /// Adds a number that can rise and fall; adds nothing if it is nil.
    mutating func gauge(_ name: String, _ help: String, _ value: Double?) {
        if let value { gauges(name, help, [([], value)]) }
    }

    /// Adds numbers that can rise and fall, distinguished by labels.
    mutating func gauges(_ name: String, _ help: String, _ samples: [(Labels, Double)]) {
        families.append(
            Family(name: name, help: help, content: .gauges(samples.map { ($0.0, $0.1) })))
    }

    /// Adds a number that only rises while the daemon runs; adds nothing if it is nil.
    mutating func counter(_ name: String, _ help: String, _ value: Double?) {
        if let value { counters(name, help, [([], value)]) }
    }

    /// Adds numbers that only rise while the daemon runs, distinguished by labels.
    mutating func counters(_ name: String, _ help: String, _ samples: [(Labels, Double)]) {
        assert(name.hasSuffix("_total"), "The name of a counter ends in _total.")
        families.append(
            Family(name: name, help: help, content: .counters(samples.map { ($0.0, $0.1) })))
    }

    /// Adds a histogram from its JSON form in the daemon's status; adds nothing if the JSON is nil
    /// or invalid.
    mutating func histogram(_ name: String, _ help: String, _ json: JSON?) {
        guard let histogram = Histogram(json) else { return }
        families.append(Family(name: name, help: help, content: .histogram(histogram)))
    }
}
