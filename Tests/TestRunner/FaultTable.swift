/// The table of a page on faults: each fault with its behaviour and the tests that prove it.
struct FaultTable {
    struct Row: Equatable {
        /// The line number in the page, from 1.
        let line: Int
        let fault: String
        /// The names of tests in the last column, separated by semicolons.
        let tests: [String]
    }

    private(set) var rows: [Row] = []

    /// Reads the rows below the heading `| fault | behaviour | test |`.
    init(page: String) {
        var isInTable = false
        for (index, line) in page.split(separator: "\n", omittingEmptySubsequences: false)
            .enumerated()
        {
            let cells = line.split(separator: "|").map { Self.trimmed($0) }
            if cells == ["fault", "behaviour", "test"] {
                isInTable = true
            } else if !line.hasPrefix("|") {
                isInTable = false
            } else if isInTable, let last = cells.last, last.contains(where: { $0 != "-" }) {
                let tests = last.split(separator: ";").map { Self.trimmed($0) }
                rows.append(Row(line: index + 1, fault: cells[0], tests: tests))
            }
        }
    }

    private static func trimmed(_ text: Substring) -> String {
        String(text.drop { $0 == " " }.reversed().drop { $0 == " " }.reversed())
    }

    /// Returns one line for each fault with a skipped test: a skipped test proves nothing.
    ///
    /// `skipped` maps test ids to reasons.
    func untested(skipped: [String: String]) -> [String] {
        rows.flatMap { row in
            row.tests.compactMap { test in
                skipped.first { Self.isTest(test, id: $0.key) }.map { "\(row.fault): \($0.value)" }
            }
        }
    }

    private static func isTest(_ name: String, id: String) -> Bool {
        id.contains("/`\(name)`(") || id.contains("/\(name)(")
    }
}
