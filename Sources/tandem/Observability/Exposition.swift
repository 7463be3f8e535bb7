import Tandem
import TandemModel

/// Metrics in Prometheus' text format, version 0.0.4.
struct Exposition {
    private typealias Labels = DaemonMetrics.Labels

    /// The text of all families, which ends with a newline.
    private(set) var text = ""

    /// Writes all families of the metrics, each with its help and type.
    init(_ metrics: DaemonMetrics) {
        for family in metrics.families { write(family) }
    }

    private mutating func write(_ family: DaemonMetrics.Family) {
        let help = Self.escaped(family.help, quotes: false)
        text += "# HELP \(family.name) \(help)\n# TYPE \(family.name) \(family.content.type)\n"
        switch family.content {
        case .gauges(let samples), .counters(let samples):
            for sample in samples { write(family.name, sample.labels, sample.value) }
        case .histogram(let histogram):
            write(family.name, histogram)
        }
    }

    private mutating func write(_ name: String, _ histogram: DaemonMetrics.Histogram) {
        var below = 0.0
        for (bound, count) in zip(histogram.bounds, histogram.counts) {
            below += count
            write(name + "_bucket", [("le", Self.number(bound))], below)
        }
        write(name + "_bucket", [("le", "+Inf")], histogram.count)
        write(name + "_sum", [], histogram.sum)
        write(name + "_count", [], histogram.count)
    }

    private mutating func write(_ name: String, _ labels: Labels, _ value: Double) {
        text += name
        if !labels.isEmpty {
            let pairs = labels.map { "\($0.name)=\"\(Self.escaped($0.value, quotes: true))\"" }
            text += "{" + pairs.joined(separator: ",") + "}"
        }
        text += " \(Self.number(value))\n"
    }

    /// Returns a number, without a fraction if it is whole.
    private static func number(_ value: Double) -> String {
        Int64(exactly: value).map(String.init) ?? "\(value)"
    }

    private static func escaped(_ text: String, quotes: Bool) -> String {
        text.unicodeScalars.map { scalar in
            switch scalar {
            case "\\": "\\\\"
            case "\n": "\\n"
            case "\"" where quotes: "\\\""
            default: scalar.isPrintable ? String(scalar) : "\\" + scalar.hexEscape
            }
        }.joined()
    }
}

extension DaemonMetrics.Content {
    /// The type's name in the text format.
    fileprivate var type: String {
        switch self {
        case .gauges: "gauge"
        case .counters: "counter"
        case .histogram: "histogram"
        }
    }
}
