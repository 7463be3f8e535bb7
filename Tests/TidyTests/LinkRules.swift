/// The rules that links in pages and comments refer to files of the tree.
enum LinkRules {
    /// Returns a finding for each relative link to a missing file, and for each DocC link to a page
    /// that the catalogue lacks.
    ///
    /// `exists` returns whether the tree has a path. Links in code blocks do not count.
    static func broken(_ pages: [SourceFile], exists: (String) -> Bool) -> [Finding] {
        pages.flatMap { page -> [Finding] in
            let folder = page.path.split(separator: "/").dropLast().map(String.init)
            var isFenced = false
            return page.lines.enumerated().flatMap { index, line -> [Finding] in
                if line.hasPrefix("```") { isFenced.toggle() }
                guard !isFenced, !line.hasPrefix("    ") else { return [] }
                let missing = targets(in: line).filter { target in
                    guard let path = resolve(target, in: folder) else { return true }
                    return !exists(path)
                }
                return missing.map {
                    Finding(
                        path: page.path, line: index + 1, message: "links \($0), which is missing")
                }
            }
        }
    }

    /// Returns a finding for each DocC link in a comment to a page that the module lacks.
    static func unknownPages(_ sources: [SourceFile], among pages: [SourceFile]) -> [Finding] {
        let known = Set(
            pages.map { module(of: $0) + "/" + ($0.path.split(separator: "/").last ?? "") })
        return sources.flatMap { file -> [Finding] in
            guard file.text.contains("<doc:") else { return [] }
            return file.lines.enumerated().flatMap { index, line in
                between("<doc:", ">", in: line).filter {
                    !known.contains("\(module(of: file))/\($0).md")
                }.map {
                    Finding(path: file.path, line: index + 1, message: "there is no page \($0)")
                }
            }
        }
    }

    private static func module(of file: SourceFile) -> String {
        file.path.split(separator: "/").prefix(2).joined(separator: "/")
    }

    /// Returns the targets of the links in a line: relative paths without anchors, and the pages of
    /// DocC links.
    private static func targets(in line: String) -> [String] {
        func path(_ link: String) -> String { String(link.prefix { $0 != "#" }) }
        let pages = between("<doc:", ">", in: line).map { path($0) + ".md" }
        let links = between("](", ")", in: line).filter { !$0.contains("://") }.map(path)
        return pages + links.filter { !$0.isEmpty }
    }

    /// Returns the texts between each occurrence of `start` and the next `end`.
    private static func between(_ start: String, _ end: Character, in line: String) -> [String] {
        var found: [String] = []
        var rest = line[...]
        while let range = rest.firstRange(of: start) {
            rest = rest[range.upperBound...]
            guard let last = rest.firstIndex(of: end) else { break }
            found.append(String(rest[..<last]))
        }
        return found
    }

    /// Returns a relative path as one from the root, or nil if it leaves the tree.
    private static func resolve(_ target: String, in folder: [String]) -> String? {
        var parts = folder
        for part in target.split(separator: "/") {
            if part != ".." {
                parts.append(String(part))
            } else if parts.popLast() == nil {
                return nil
            }
        }
        return parts.joined(separator: "/")
    }
}
