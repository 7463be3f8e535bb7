/// The rule that every suite listed on the page of names shared with Core Data exists.
enum SuiteRules {
    static let page = "Client/Tandem/Tandem.docc/SameNames.md"

    /// Returns the suites in the last column of the page's tables.
    ///
    /// Suites are separated by commas; words after a suite's name are ignored.
    static func namedSuites(_ page: String) -> [(line: Int, name: String)] {
        var isInTable = false
        var named: [(line: Int, name: String)] = []
        for (index, line) in page.split(separator: "\n", omittingEmptySubsequences: false)
            .enumerated()
        {
            let cells = line.split(separator: "|")
            guard line.hasPrefix("|"), let last = cells.last else {
                isInTable = false
                continue
            }
            if last.contains("Verified by") {
                isInTable = true
            } else if isInTable, last.contains(where: { $0 != "-" }) {
                named += last.split(separator: ",", omittingEmptySubsequences: false).map {
                    (index + 1, $0.split(separator: " ").first.map(String.init) ?? "")
                }
            }
        }
        return named
    }

    /// Returns a finding for each row that names no suite, or a suite that no test file declares.
    static func missing(_ page: String, tests: [SourceFile]) -> [Finding] {
        var declared: Set<String> = []
        for line in tests.lazy.flatMap(\.code) {
            guard let range = line.firstRange(of: "struct ") else { continue }
            let rest = line[range.upperBound...]
            declared.insert(String(rest.prefix { $0.isLetter || $0.isNumber }))
        }
        return namedSuites(page).filter { !declared.contains($0.name) }.map {
            Finding(path: SuiteRules.page, line: $0.line, message: "there is no suite \($0.name)")
        }
    }
}
