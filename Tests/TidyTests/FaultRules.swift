/// The table of faults names tests; each has to exist.
enum FaultRules {
    static let page = "Daemon/TandemDaemon/TandemDaemon.docc/Faults.md"

    /// The tests that the table names: the last column of its rows, several with semicolons between them.
    static func namedTests(_ page: String) -> [(line: Int, name: String)] {
        var isInTable = false
        var named: [(line: Int, name: String)] = []
        for (index, line) in page.split(separator: "\n", omittingEmptySubsequences: false)
            .enumerated()
        {
            let cells = line.split(separator: "|").map { trimmed($0) }
            if cells == ["fault", "behaviour", "test"] {
                isInTable = true
            } else if !line.hasPrefix("|") {
                isInTable = false
            } else if isInTable, let last = cells.last, last.contains(where: { $0 != "-" }) {
                named += names(last).map { (index + 1, $0) }
            }
        }
        return named
    }

    private static func names(_ cell: String) -> [String] {
        cell.split(separator: ";").map { trimmed($0) }
    }

    private static func trimmed(_ text: Substring) -> String {
        String(text.drop { $0 == " " }.reversed().drop { $0 == " " }.reversed())
    }

    /// The rows whose test no file of tests declares.
    static func missing(_ page: String, tests: [SourceFile]) -> [Finding] {
        namedTests(page).filter { named in
            !tests.contains {
                $0.text.contains("func `\(named.name)`") || $0.text.contains("func \(named.name)(")
            }
        }.map { Finding(path: FaultRules.page, line: $0.line, message: "no test is \($0.name)") }
    }
}
