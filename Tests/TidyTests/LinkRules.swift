/// The rule that every link to a DocC page leads to a page of the same module.
enum LinkRules {
    /// Returns a finding for each link `<doc:PAGE>` in pages and sources whose page is missing.
    static func broken(pages: [SourceFile], sources: [SourceFile]) -> [Finding] {
        var known: [String: Set<Substring>] = [:]
        for page in pages {
            guard let name = page.path.split(separator: "/").last?.dropLast(".md".count) else {
                continue
            }
            known[module(of: page), default: []].insert(name)
        }
        return (pages + sources).flatMap { file -> [Finding] in
            guard file.text.contains("<doc:") else { return [] }
            return file.lines.enumerated().flatMap { index, line in
                links(in: line).filter { known[module(of: file)]?.contains($0) != true }.map {
                    Finding(path: file.path, line: index + 1, message: "there is no page \($0)")
                }
            }
        }
    }

    /// Returns the pages to which a line links.
    private static func links(in line: String) -> [Substring] {
        line.ranges(of: "<doc:").map { range in
            line[range.upperBound...].prefix { $0 != ">" }
        }
    }

    private static func module(of file: SourceFile) -> String {
        file.path.split(separator: "/").prefix(2).joined(separator: "/")
    }
}
