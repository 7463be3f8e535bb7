/// The rule that the page on the architecture names only what exists, and omits no target.
///
/// A name is a text in backticks outside code blocks. Commands, settings and other texts that do
/// not look like names in code are ignored.
enum ArchitectureRules {
    static let page = "ARCHITECTURE.md"

    /// A text in backticks, interpreted as a name.
    enum Name: Hashable {
        /// A type or one of its members, as in `Store` and `Store.format`, in components; also a
        /// target, or an entry of the root.
        case type([String])
        /// A function, as in `save()` and `Journal.append(expected:batch:)`, in components without
        /// its parentheses.
        case function([String])
        /// A file or folder: relative to the root, or the end of such a path.
        case path(String)
    }

    // MARK: Names

    /// Returns the names on a page, each with its line number.
    static func names(_ page: String) -> [(line: Int, name: Name)] {
        var isInBlock = false
        var found: [(line: Int, name: Name)] = []
        for (index, line) in page.split(separator: "\n", omittingEmptySubsequences: false)
            .enumerated()
        {
            if line.hasPrefix("```") { isInBlock.toggle() }
            guard !isInBlock else { continue }
            let parts = line.split(separator: "`", omittingEmptySubsequences: false)
            for (part, text) in parts.enumerated() where part % 2 == 1 {
                if let name = name(String(text)) { found.append((index + 1, name)) }
            }
        }
        return found
    }

    /// Returns the name that a text in backticks looks like, or nil if it does not look like a
    /// name.
    static func name(_ text: String) -> Name? {
        guard let first = text.first, !text.contains(" ") else { return nil }
        if text.hasSuffix(")"), let open = text.firstIndex(of: "(") {
            let parts = components(text[..<open])
            return isName(parts) ? .function(parts) : nil
        }
        // Absolute paths are those of an installation.
        if text.contains("/") || suffixes.contains(where: text.hasSuffix) {
            return first == "/" ? nil : .path(text.hasSuffix("/") ? String(text.dropLast()) : text)
        }
        let parts = components(text[...])
        guard isName(parts), first.isUppercase, text.contains(where: \.isLowercase) else {
            return nil
        }
        return .type(parts)
    }

    private static let suffixes = [".md", ".sh", ".swift", ".tsv"]

    private static func components(_ text: Substring) -> [String] {
        text.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
    }

    private static func isName(_ components: [String]) -> Bool {
        components.allSatisfy { part in
            part.first.map { $0.isLetter } == true
                && part.allSatisfy { $0.isLetter || $0.isNumber }
        }
    }

    // MARK: Rules

    /// Returns a finding for each name that no source declares, and each path that does not exist.
    ///
    /// `paths` contains files and folders.
    static func missing(
        _ page: String, sources: [SourceFile], targets: Set<String>, paths: Set<String>
    ) -> [Finding] {
        let names = names(page)
        let declared = declarations(sources)
        return names.compactMap { line, name -> Finding? in
            let problem: String?
            switch name {
            case .type(let parts)
            where parts.count == 1 && (targets.contains(parts[0]) || paths.contains(parts[0])):
                problem = nil
            case .type(let parts):
                problem = unknown(parts, in: declared).map { "no source declares \($0)" }
            case .function(let parts):
                problem = unknown(parts, in: declared).map { "no source declares \($0)()" }
            case .path(let path):
                let exists =
                    paths.contains(path) || paths.contains { $0.hasSuffix("/" + path) }
                problem = exists ? nil : "there is no \(path)"
            }
            return problem.map { Finding(path: Self.page, line: line, message: $0) }
        }
    }

    /// Returns the first component that is not declared in the required way.
    private static func unknown(_ parts: [String], in declared: Declarations) -> String? {
        parts.first { part in
            part.first?.isUppercase == true
                ? !declared.types.contains(part) : !declared.members.contains(part)
        }
    }

    /// Returns a finding for each target of the manifest that the page does not name.
    static func unnamed(_ page: String, targets: Set<String>) -> [Finding] {
        targets.sorted().filter { !page.contains("`\($0)`") }.map {
            Finding(path: Self.page, message: "does not name the target `\($0)`")
        }
    }

    /// Returns the names of all targets of a manifest, suites included.
    static func targets(ofManifest text: String) -> Set<String> {
        let flat = text.split(separator: "\n").joined(separator: " ")
        let suites = flat.pieces(after: " suite(").compactMap(\.allQuoted.first)
        return Set(PackageRules.targets(in: text).keys).union(suites)
    }

    // MARK: Declarations

    /// The names that sources declare, at any depth.
    struct Declarations {
        var types: Set<String> = []
        var members: Set<String> = []
    }

    static func declarations(_ sources: [SourceFile]) -> Declarations {
        var declared = Declarations()
        for line in sources.lazy.flatMap(\.code) {
            var previous = ArraySlice<UInt8>()
            for word in Array(line.utf8).split(whereSeparator: { !FolderRules.isPartOfName($0) }) {
                if typeKinds.contains(where: { previous.elementsEqual($0) }) {
                    declared.types.insert(String(decoding: word, as: UTF8.self))
                } else if memberKinds.contains(where: { previous.elementsEqual($0) }) {
                    declared.members.insert(String(decoding: word, as: UTF8.self))
                }
                previous = word
            }
        }
        return declared
    }

    private static let typeKinds = [
        "class", "struct", "enum", "actor", "protocol", "typealias",
    ].map { Array($0.utf8) }
    private static let memberKinds = ["func", "var", "let", "case"].map { Array($0.utf8) }
}
