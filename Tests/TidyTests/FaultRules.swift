@testable import TestRunner

/// The table of faults names tests; each has to exist.
enum FaultRules {
    static let page = "Daemon/TandemDaemon/TandemDaemon.docc/Faults.md"

    /// The rows whose test no file of tests declares.
    static func missing(_ page: String, tests: [SourceFile]) -> [Finding] {
        FaultTable(page: page).rows.flatMap { row in
            row.tests.filter { name in
                !tests.contains {
                    $0.text.contains("func `\(name)`") || $0.text.contains("func \(name)(")
                }
            }.map { Finding(path: FaultRules.page, line: row.line, message: "no test is \($0)") }
        }
    }
}
