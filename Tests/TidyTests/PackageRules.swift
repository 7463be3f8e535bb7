/// The checks of the package as a whole.
enum PackageRules {
    /// The top level holds what the design names and nothing else.
    static func topLevel(_ names: [String]) -> [Finding] {
        Set(names).symmetricDifference(Layout.topLevel).sorted().map { name in
            let isMissing = Layout.topLevel.contains(name)
            return Finding(
                path: name, message: isMissing ? "is missing" : "does not belong to the top level")
        }
    }

    /// The manifest declares the design's targets at their places with the design's arrows.
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
                find("\(target.name) does not lie in \(target.folder)")
            }
            for name in found.dependencies.subtracting(target.imports).sorted() {
                find("\(target.name) may not depend on \(name)")
            }
            if found.isUsingPackages && !target.isEdge {
                find("\(target.name) is no place for packages of others")
            }
        }
        for name in declared.keys.sorted() where Layout.target(name) == nil {
            find("the design knows no target \(name)")
        }
        return findings
    }

    /// A target as the manifest declares it.
    struct Declared: Equatable {
        var path: String
        var dependencies: Set<String>
        var isUsingPackages: Bool
    }

    /// The targets of a manifest, as far as it is written the way ours is.
    static func targets(in text: String) -> [String: Declared] {
        var found: [String: Declared] = [:]
        let kinds = [".target(", ".executableTarget(", ".systemLibrary("]
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

    /// Every target is named by the README, as `name`.
    static func readme(_ text: String) -> [Finding] {
        Layout.targets.filter { !text.contains("`\($0.name)`") }.map {
            Finding(path: "README.md", message: "does not name the target `\($0.name)`")
        }
    }

    /// Every library has a DocC page whose title is its name.
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
    /// What stands after each occurrence of a word, up to the next.
    func pieces(after word: String) -> [String] {
        var pieces: [String] = []
        var rest = self[...]
        while let range = rest.firstRange(of: word) {
            rest = rest[range.upperBound...]
            // Ends where the parenthesis that the word opened is closed.
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

    /// The text between two others; nil when they don't occur.
    func between(_ start: String, _ end: String) -> String? {
        guard let first = firstRange(of: start) else { return nil }
        let rest = self[first.upperBound...]
        guard let last = rest.firstRange(of: end) else { return nil }
        return String(rest[..<last.lowerBound])
    }

    /// The string literal after a text; nil when there is none.
    func quoted(after text: String) -> String? { between(text + "\"", "\"") }

    /// All string literals.
    var allQuoted: [String] {
        split(separator: "\"", omittingEmptySubsequences: false).enumerated()
            .filter { $0.offset % 2 == 1 }.map { String($0.element) }
    }
}
