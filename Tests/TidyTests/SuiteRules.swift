/// The page of names that Core Data has too says which suites hold its lines; each has to exist.
enum SuiteRules {
    static let page = "Client/Tandem/Tandem.docc/SameNames.md"

    /// The suites that the page names: the last column of its tables, with commas between them, each perhaps with where it is.
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
            if last.contains("Held by") {
                isInTable = true
            } else if isInTable, last.contains(where: { $0 != "-" }) {
                named += last.split(separator: ",", omittingEmptySubsequences: false).map {
                    (index + 1, $0.split(separator: " ").first.map(String.init) ?? "")
                }
            }
        }
        return named
    }

    /// The rows that name a suite which no file of tests declares, or none.
    static func missing(_ page: String, tests: [SourceFile]) -> [Finding] {
        var declared: Set<String> = []
        for line in tests.lazy.flatMap(\.code) {
            guard let range = line.firstRange(of: "struct ") else { continue }
            let rest = line[range.upperBound...]
            declared.insert(String(rest.prefix { $0.isLetter || $0.isNumber }))
        }
        return namedSuites(page).filter { !declared.contains($0.name) }.map {
            Finding(path: SuiteRules.page, line: $0.line, message: "no suite is \($0.name)")
        }
    }
}
