import Glibc

/// The reason why a benchmark produced no result.
struct Failure: Error, CustomStringConvertible {
    var description: String

    init(_ description: String) { self.description = description }
}

/// One line of results, in the format that all programs of the comparison print.
struct ResultLine {
    var scenario: String
    var peer: String
    var n: Int
    var metric: String
    var values: [Double]
    /// The times of the floor between the operations in microseconds, if it was measured.
    var floor: [Double] = []
    var unit = "us"
    /// Additional members: names and JSON values.
    var notes: [(String, String)] = []
    /// The kind of failure that a save survives; nil if nothing is saved.
    var durability: String? = "power-loss durable"

    /// Writes the line to standard output.
    func emit() {
        let sorted = values.sorted()
        let floor = floor.sorted()
        let (median, floorMedian) = (percentile(sorted, 0.5), percentile(floor, 0.5))
        var members = [
            ("scenario", quoted(scenario)), ("peer", quoted(peer)), ("n", "\(n)"),
            ("metric", quoted(metric)), ("min", decimal(sorted.first ?? 0)),
            ("p50", decimal(median)), ("p99", decimal(percentile(sorted, 0.99))),
            ("max", decimal(sorted.last ?? 0)), ("unit", quoted(unit)),
            ("samples", "\(sorted.count)"),
        ]
        if !floor.isEmpty {
            members += [
                ("floor_min", decimal(floor.first ?? 0)), ("floor_p50", decimal(floorMedian)),
                ("ratio", decimal(median / floorMedian)),
            ]
        }
        members +=
            notes + (durability.map { [("durability", quoted($0))] } ?? []) + [
                ("verified", "true")
            ]
        let text = members.map { "\(quoted($0.0)):\($0.1)" }.joined(separator: ",")
        print("{\(text)}")
        fflush(nil)
    }
}

/// Returns a percentile of sorted values, given as a fraction; 0 if there are no values.
func percentile(_ sorted: [Double], _ share: Double) -> Double {
    sorted.isEmpty ? 0 : sorted[Int((share * Double(sorted.count - 1)).rounded())]
}

/// Returns a text without quotes or control characters as JSON.
func quoted(_ text: String) -> String { "\"\(text)\"" }

/// Returns a number with three decimals.
func decimal(_ value: Double) -> String {
    let thousandths = Int((value * 1_000).rounded())
    let (whole, rest) = (thousandths / 1_000, "\(abs(thousandths) % 1_000)")
    return "\(whole).\(String(repeating: "0", count: 3 - rest.count))\(rest)"
}
