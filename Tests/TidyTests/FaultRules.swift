@testable import TestRunner

/// The rule that every test named in the table of faults exists.
enum FaultRules {
    static let page = "Daemon/TandemDaemon/TandemDaemon.docc/Faults.md"

    /// Returns a finding for each row that names a test that no test file declares.
    static func missing(_ page: String, tests: [SourceFile]) -> [Finding] {
        FaultTable(page: page).rows.flatMap { row in
            row.tests.filter { name in
                !tests.contains {
                    $0.mentions("func `\(name)`", "func \(name)(")
                }
            }.map {
                Finding(path: FaultRules.page, line: row.line, message: "there is no test \($0)")
            }
        }
    }
}
