import Tandem

/// Metrics in Prometheus' text format, version 0.0.4: families of samples, each with its help and
/// type.
///
///     var exposition = Exposition()
///     exposition.gauge("tandem_read_only", "1 while saves are refused", 0)
struct Exposition {
    /// The label names and values of a sample.
    typealias Labels = KeyValuePairs<String, String>

    /// The text of all families added so far, which ends with a newline.
    private(set) var text = ""

    /// Adds a number that can rise and fall; adds nothing if it is nil.
    mutating func gauge(_ name: String, _ help: String, _ value: Double?) {
        if let value { family(name, "gauge", help, [([:], value)]) }
    }

    /// Adds numbers that can rise and fall, distinguished by labels.
    mutating func gauges(_ name: String, _ help: String, _ samples: [(Labels, Double)]) {
        family(name, "gauge", help, samples)
    }

    /// Adds a number that only rises while the daemon runs; its name ends in `_total`.
    mutating func counter(_ name: String, _ help: String, _ value: Double?) {
        if let value { family(name, "counter", help, [([:], value)]) }
    }

    /// Adds numbers that only rise, distinguished by labels.
    mutating func counters(_ name: String, _ help: String, _ samples: [(Labels, Double)]) {
        family(name, "counter", help, samples)
    }

    /// Adds a histogram in seconds from its JSON form in the daemon's status; adds nothing if the
    /// JSON is nil or invalid.
    mutating func histogram(_ name: String, _ help: String, _ json: JSON?) {
        guard let bounds = json?["boundsMicroseconds"]?.array?.compactMap(\.number),
            let counts = json?["counts"]?.array?.compactMap(\.number),
            let sum = json?["sumMicroseconds"]?.number, counts.count == bounds.count + 1
        else { return }
        family(name, "histogram", help)
        var below = 0.0
        for (bound, count) in zip(bounds, counts) {
            below += count
            sample(name + "_bucket", ["le": Self.number(bound / 1_000_000)], below)
        }
        below += counts[bounds.count]
        sample(name + "_bucket", ["le": "+Inf"], below)
        sample(name + "_sum", [:], sum / 1_000_000)
        sample(name + "_count", [:], below)
    }

    private mutating func family(
        _ name: String, _ type: String, _ help: String, _ samples: [(Labels, Double)] = []
    ) {
        text += "# HELP \(name) \(Self.escaped(help, quotes: false))\n# TYPE \(name) \(type)\n"
        for (labels, value) in samples { sample(name, labels, value) }
    }

    private mutating func sample(_ name: String, _ labels: Labels, _ value: Double) {
        text += name
        if !labels.isEmpty {
            let pairs = labels.map { "\($0.key)=\"\(Self.escaped($0.value, quotes: true))\"" }
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
