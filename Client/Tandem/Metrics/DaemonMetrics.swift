import TandemModel

/// The metrics of a daemon, read from its status: families of samples, each with a help text.
///
///     var metrics = DaemonMetrics(isUp: true)
///     metrics.gauge("tandem_read_only", "1 while saves are refused", 0)
package struct DaemonMetrics: Sendable {
    /// The label names and values of a sample.
    package typealias Labels = [(name: String, value: String)]
    /// A number, and the labels that distinguish it from others of the same name.
    package typealias Sample = (labels: Labels, value: Double)

    /// Samples of one name, distinguished by labels.
    package struct Family: Sendable {
        package let name: String
        package let help: String
        package let content: Content
    }

    /// The kinds of families, with their samples.
    package enum Content: Sendable {
        /// Numbers that can rise and fall.
        case gauges([Sample])
        /// Numbers that only rise while the daemon runs; the family's name ends in `_total`.
        case counters([Sample])
        /// The distribution of durations.
        case histogram(Histogram)
    }

    /// The numbers of durations in several ranges.
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

    /// Whether the daemon answers.
    package let isUp: Bool

    /// The metrics if no daemon answers.
    package static let down = DaemonMetrics(isUp: false)

    /// Creates metrics with one family, which tells whether the daemon answers.
    init(isUp: Bool) {
        self.isUp = isUp
        gauge("tandem_up", "1 if the daemon answers", isUp ? 1 : 0)
    }

    /// Adds a number that can rise and fall; adds nothing if it is nil.
    mutating func gauge(_ name: String, _ help: String, _ value: Double?) {
        if let value { gauges(name, help, [([], value)]) }
    }

    /// Adds numbers that can rise and fall, distinguished by labels.
    mutating func gauges(_ name: String, _ help: String, _ samples: [Sample]) {
        families.append(Family(name: name, help: help, content: .gauges(samples)))
    }

    /// Adds a number that only rises while the daemon runs; adds nothing if it is nil.
    mutating func counter(_ name: String, _ help: String, _ value: Double?) {
        if let value { counters(name, help, [([], value)]) }
    }

    /// Adds numbers that only rise while the daemon runs, distinguished by labels.
    mutating func counters(_ name: String, _ help: String, _ samples: [Sample]) {
        assert(name.hasSuffix("_total"), "The name of a counter ends in _total.")
        families.append(Family(name: name, help: help, content: .counters(samples)))
    }

    /// Adds a histogram from its JSON form in the daemon's status; adds nothing if the JSON is nil
    /// or invalid.
    mutating func histogram(_ name: String, _ help: String, _ json: JSON?) {
        guard let histogram = Histogram(json) else { return }
        families.append(Family(name: name, help: help, content: .histogram(histogram)))
    }
}
