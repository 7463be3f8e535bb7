/// The checks of the package as a whole.
enum PackageRules {
    /// Returns a finding for each name that is missing at the top level or does not belong there.
    static func topLevel(_ names: [String]) -> [Finding] {
        Set(names).symmetricDifference(Layout.topLevel).sorted().map { name in
            let isMissing = Layout.topLevel.contains(name)
            return Finding(
                path: name, message: isMissing ? "is missing" : "does not belong to the top level")
        }
    }

    /// Returns a finding for each target that is missing, unknown, in the wrong folder, or has a
    /// forbidden dependency.
    static func manifest(_ text: String) -> [Finding] {
        let declared = targets(in: text)
        var findings: [Finding] = []
        func find(_ message: String) {
            findings.append(Finding(path: "Package.swift", message: message))
        }
        for target in Layout.targets {
            guard let found = declared[target.name] else {
                find("\(target.name) is missing")
                continue
            }
            if found.path != "\(target.folder)/\(target.name)" {
                find("\(target.name) is not in \(target.folder)")
            }
            for name in found.dependencies.subtracting(target.imports).sorted() {
                find("\(target.name) may not depend on \(name)")
            }
            if found.isUsingPackages && !target.isEdge {
                find("\(target.name) may not depend on third-party packages")
            }
        }
        for name in declared.keys.sorted() where Layout.target(name) == nil {
            find("target \(name) is not part of the layout")
        }
        return findings
    }

    /// A target as declared in the manifest.
    struct Declared: Equatable {
        var path: String
        var dependencies: Set<String>
        var isUsingPackages: Bool
    }

    /// Returns the targets of a manifest, which must be formatted like this package's.
    static func targets(in text: String) -> [String: Declared] {
        var found: [String: Declared] = [:]
        let kinds = [".target(", ".executableTarget(", ".systemLibrary(", ".macro("]
        let flat = text.split(separator: "\n").joined(separator: " ")
        for piece in kinds.flatMap({ flat.pieces(after: $0) }) {
            guard let name = piece.quoted(after: "name: ") else { continue }
            let list = piece.between("dependencies: [", "]") ?? ""
            found[name] = Declared(
                path: piece.quoted(after: "path: ") ?? "",
                dependencies: Set(list.allQuoted),
                isUsingPackages: list.contains("arguments") || list.contains(".product("))
        }
        return found
    }

    /// The page with the table of targets.
    static let targetPage = "CONTRIBUTING.md"

    /// Returns the targets that no row of the table names in its first cell, in backticks.
    ///
    /// A row of a library with a front page must also have a link.
    static func targetTable(_ text: String) -> [Finding] {
        let rows = text.split(separator: "\n").filter { $0.hasPrefix("| `") }
            .map { $0.split(separator: "|", omittingEmptySubsequences: false) }
        return Layout.targets.compactMap { target in
            guard let row = rows.first(where: { $0[1].contains("`\(target.name)`") }) else {
                return Finding(
                    path: targetPage, message: "does not list the target `\(target.name)`")
            }
            guard target.hasFrontPage, !row.contains(where: { $0.contains("](") }) else {
                return nil
            }
            return Finding(path: targetPage, message: "has no link for `\(target.name)`")
        }
    }

    /// The pages that must stay short, each with its limit of lines.
    static let shortPages = ["README.md": 150, "CONTRIBUTING.md": 120]

    /// Returns a finding if a page is longer than its limit.
    static func length(_ page: SourceFile) -> [Finding] {
        let lines = page.text.split(separator: "\n", omittingEmptySubsequences: false).count - 1
        guard let limit = shortPages[page.path], lines > limit else { return [] }
        return [Finding(path: page.path, message: "has \(lines) lines, more than \(limit)")]
    }

    /// Returns the libraries without a DocC page whose title is the library's name.
    static func frontPages(_ pages: [SourceFile]) -> [Finding] {
        Layout.targets.filter(\.hasFrontPage).compactMap { target in
            let folder = "\(target.folder)/\(target.name)/"
            let hasPage = pages.contains {
                $0.path.hasPrefix(folder) && $0.text.hasPrefix("# ``\(target.name)``\n")
            }
            return hasPage ? nil : Finding(path: folder, message: "has no DocC front page")
        }
    }
}

extension String {
    /// Returns the texts after each occurrence of a word, each up to the closing parenthesis.
    func pieces(after word: String) -> [String] {
        var pieces: [String] = []
        var rest = self[...]
        while let range = rest.firstRange(of: word) {
            rest = rest[range.upperBound...]
            // Find the parenthesis that closes the one opened by the word.
            var depth = 1
            let end = rest.firstIndex { character in
                if character == "(" { depth += 1 }
                if character == ")" { depth -= 1 }
                return depth == 0
            }
            pieces.append(String(rest[..<(end ?? rest.endIndex)]))
        }
        return pieces
    }

    /// Returns the text between two others, or nil if either does not occur.
    func between(_ start: String, _ end: String) -> String? {
        guard let first = firstRange(of: start) else { return nil }
        let rest = self[first.upperBound...]
        guard let last = rest.firstRange(of: end) else { return nil }
        return String(rest[..<last.lowerBound])
    }

    /// Returns the string literal after a text, or nil if there is none.
    func quoted(after text: String) -> String? { between(text + "\"", "\"") }

    /// The contents of all string literals.
    var allQuoted: [String] {
        split(separator: "\"", omittingEmptySubsequences: false).enumerated()
            .filter { $0.offset % 2 == 1 }.map { String($0.element) }
    }
}
