import Foundation

/// The table of expected durations: a suite and its seconds per line, separated by a tab.
enum Durations {
    /// Reads tables; a later one takes precedence, and a missing one counts as empty.
    static func read(_ paths: [String]) -> [String: Double] {
        var seconds: [String: Double] = [:]
        for path in paths {
            let text = (try? String(contentsOfFile: path, encoding: .utf8)) ?? ""
            for line in text.split(separator: "\n") {
                let cells = line.split(separator: "\t")
                if cells.count == 2, let value = Double(cells[1]) {
                    seconds[String(cells[0])] = value
                }
            }
        }
        return seconds
    }

    /// Writes a table of the suites that take at least `least` seconds.
    static func write(_ seconds: [String: Double], least: Double = 0, to path: String) throws {
        let lines = seconds.filter { $0.value >= least }.sorted { $0.key < $1.key }.map {
            "\($0.key)\t\(Double(Int(($0.value * 100).rounded())) / 100)\n"
        }
        try lines.joined().write(toFile: path, atomically: true, encoding: .utf8)
    }
}
