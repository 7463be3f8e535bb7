/// The rules on the English of comments, pages, messages and names of tests.
///
/// The rules find phrases that are hard to understand. Whether a text is good has to be decided in
/// a review.
enum ProseRules {
    /// The maximum number of findings per 1,000 sentences of a module: once for its comments and
    /// pages, and once for its messages, which are string literals.
    static let limit = 5.0

    /// The number of findings on messages in modules that are above the limit; it may only be
    /// lowered.
    static let knownMessages: [String: Int] = [:]

    /// The number of findings on pages that may have some; it may only be lowered.
    static let knownPages = [
        // The page quotes the descriptions of settings and limits.
        "Daemon/TandemDaemon/TandemDaemon.docc/Configuration.md": 14
    ]

    /// The files that contain such phrases on purpose.
    static let exempt: Set<String> = [
        "Tests/TidyTests/Glossary.swift", "Tests/TidyTests/Phrases.swift",
        "Tests/TidyTests/ProseRuleTests.swift",
    ]

    /// A number of sentences, and the findings on them.
    struct Tally {
        var sentences = 0
        var findings: [Finding] = []

        /// The findings per 1,000 sentences.
        var rate: Double { 1_000 * Double(findings.count) / Double(max(sentences, 1)) }

        fileprivate mutating func add(_ finding: Finding?) {
            sentences += 1
            if let finding { findings.append(finding) }
        }
    }

    /// The sentences of a module, or of a page outside modules.
    struct Module {
        /// The sentences of comments and pages.
        var texts = Tally()
        var messages = Tally()
    }

    // MARK: Counting

    /// Returns the sentences of each module by its folder.
    static func modules(_ files: [SourceFile]) -> [String: Module] {
        var modules: [String: Module] = [:]
        for file in files where !exempt.contains(file.path) {
            let name = file.path.split(separator: "/").prefix(2).joined(separator: "/")
            var module = modules[name] ?? Module()
            for sentence in Sentence.all(in: file) {
                let finding = finding(sentence, in: file)
                if sentence.kind == .literal {
                    module.messages.add(finding)
                } else {
                    module.texts.add(finding)
                }
            }
            modules[name] = module
        }
        return modules
    }

    /// Returns the finding for a sentence that has phrases of the table, or nil if it has none.
    private static func finding(_ sentence: Sentence, in file: SourceFile) -> Finding? {
        let rows = Phrases.broken(by: sentence)
        guard !rows.isEmpty else { return nil }
        let advice = rows.map { "\($0.name): \($0.remedy)" }.joined(separator: "; ")
        return Finding(
            path: file.path, line: sentence.line, message: "\(advice), in \"\(sentence.text)\"")
    }

    // MARK: Rules

    /// Returns the findings of each module that has too many findings, and of each page that must
    /// have none.
    static func excessive(
        _ modules: [String: Module], knownMessages: [String: Int], knownPages: [String: Int]
    ) -> [Finding] {
        modules.sorted { $0.key < $1.key }.flatMap { name, module -> [Finding] in
            var findings: [Finding] = []
            if module.texts.rate > limit { findings += module.texts.findings }
            if module.messages.rate > limit
                && module.messages.findings.count > knownMessages[name] ?? 0
            {
                findings += module.messages.findings
            }
            let pages = Dictionary(
                grouping: module.texts.findings.filter { $0.path.hasSuffix(".md") }, by: \.path)
            for (path, found) in pages.sorted(by: { $0.key < $1.key })
            where module.texts.rate <= limit && found.count > knownPages[path] ?? 0 {
                findings += found
            }
            return findings
        }
    }

    /// Returns a finding for each test whose name has a phrase of the table.
    static func names(
        _ file: SourceFile, _ declarations: [GlossaryRules.Declaration]
    ) -> [Finding] {
        guard file.isTest, !exempt.contains(file.path) else { return [] }
        return declarations.filter { $0.name.contains(" ") }.compactMap {
            finding(Sentence(name: $0.name, line: $0.line), in: file)
        }
    }
}
