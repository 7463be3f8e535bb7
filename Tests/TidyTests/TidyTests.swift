import Testing

@testable import TestRunner

/// The rules applied to the whole tree; the suites of rules show what each rule finds.
@Suite struct TidyTests {
    @Test func `imports follow the design`() throws {
        try expectNone(swift(Rules.imports))
    }

    @Test func `no reminders or forced tries are left`() throws {
        try expectNone(swift(Rules.leftovers))
    }

    @Test func `every unchecked claim to the compiler names its guard`() throws {
        try expectNone(swift(Rules.guards))
    }

    @Test func `the client counts its references and checks its accesses`() throws {
        try expectNone(swift(Rules.unsafeAccess))
    }

    @Test func `libraries do not print`() throws { try expectNone(swift(Rules.printing)) }

    @Test func `tests do not sleep`() throws { try expectNone(swift(Rules.sleeps)) }

    @Test func `a weak context is bound before one of its parts is called`() throws {
        try expectNone(swift(Rules.unretainedParts))
    }

    @Test func `random tests take a seed`() throws { try expectNone(swift(Rules.seeds)) }

    @Test func `invariants of journal, store, committer and lists are assertions`() throws {
        expectNone(AssertionRules.sparse(try Tree.sources.get()))
    }

    @Test func `tests that may block declare where they run`() throws {
        try expectNone(swift(IsolationRules.unisolated))
    }

    @Test func `the top level has exactly the names of the design`() throws {
        try expectNone(PackageRules.topLevel(Tree.names().filter { $0 != "Package.resolved" }))
    }

    @Test func `the manifest has the dependencies of the design`() throws {
        try expectNone(PackageRules.manifest(Tree.text("Package.swift")))
    }

    @Test func `the table of targets has every target`() throws {
        try expectNone(PackageRules.targetTable(Tree.text(PackageRules.targetPage)))
    }

    @Test func `the first pages that a stranger reads are short`() throws {
        for path in PackageRules.shortPages.keys.sorted() {
            expectNone(PackageRules.length(SourceFile(path: path, text: try Tree.text(path))))
        }
    }

    @Test func `links in pages refer to files`() throws {
        let pages = try Tree.pages()
        #expect(pages.count > 30)
        expectNone(LinkRules.broken(pages, exists: Tree.exists))
    }

    @Test func `the page on the architecture names only what exists, and every target`() throws {
        let page = try Tree.text(ArchitectureRules.page)
        let targets = ArchitectureRules.targets(ofManifest: try Tree.text("Package.swift"))
        #expect(ArchitectureRules.names(page).count > 150)
        #expect(targets.count > 30)
        expectNone(ArchitectureRules.unnamed(page, targets: targets))
        expectNone(
            ArchitectureRules.missing(
                page, sources: try Tree.sources.get(), targets: targets, paths: try Tree.paths()))
    }

    @Test func `every library has a front page`() throws {
        let pages = try Tree.files(".md", in: ["Sources", "Client", "Daemon"])
        expectNone(PackageRules.frontPages(pages))
    }

    @Test func `links in comments refer to pages of their module`() throws {
        let pages = try Tree.files(".md", in: ["Sources", "Client", "Daemon"])
        let sources = try Tree.sources.get().filter { !$0.isTest }
        expectNone(LinkRules.unknownPages(sources, among: pages))
    }

    @Test func `every test named in the table of faults exists`() throws {
        let page = try Tree.text(FaultRules.page)
        #expect(FaultTable(page: page).rows.count > 20)
        expectNone(FaultRules.missing(page, tests: try Tree.sources.get().filter(\.isTest)))
    }

    @Test func `every suite named in the page of shared names exists`()
        throws
    {
        let page = try Tree.text(SuiteRules.page)
        #expect(SuiteRules.namedSuites(page).count > 60)
        expectNone(SuiteRules.missing(page, tests: try Tree.sources.get().filter(\.isTest)))
    }

    @Test func `no two folders of a module refer to each other`() throws {
        let arrows = FolderRules.arrows(try Tree.sources.get())
        #expect(arrows.count > 100)
        expectNone(FolderRules.pairs(arrows))
    }

    @Test func `a type has one job, and state that others can't change`() throws {
        expectNone(SizeRules.findings(SizeRules.sizes(try Tree.sources.get())))
    }

    @Test func `the page of a module lists its folders, each above those that it refers to`() throws
    {
        let files = try Tree.sources.get()
        let pages = try Tree.files(".md", in: ["Sources", "Client", "Daemon"])
        expectNone(FolderRules.unlisted(files, pages: pages))
        expectNone(FolderRules.upward(FolderRules.arrows(files), pages: pages))
    }

    @Test func `every source folder is a target`() throws {
        for folder in ["Sources", "Client", "Daemon"] {
            let expected = Layout.targets.filter { $0.folder == folder }.map(\.name).sorted()
            #expect(try Tree.names(in: folder) == expected)
        }
    }

    // MARK: Language

    @Test func `comments, pages and messages are free of phrases that are hard to understand`()
        throws
    {
        let modules = ProseRules.modules(try Tree.sources.get() + Tree.pages())
        #expect(modules.count > 30)
        #expect(modules.values.reduce(0) { $0 + $1.texts.sentences } > 10_000)
        expectNone(
            ProseRules.excessive(
                modules, knownMessages: ProseRules.knownMessages, knownPages: ProseRules.knownPages)
        )
    }

    @Test func `comments and pages are not too wide`() throws {
        let manifest = SourceFile(path: "Package.swift", text: try Tree.text("Package.swift"))
        try expectNone(swift(WidthRules.comments) + WidthRules.comments(manifest))
        try expectNone(Tree.pages().flatMap(WidthRules.lines))
    }

    @Test func `rows of tables have as many cells as the header`() throws {
        try expectNone(Tree.pages().flatMap(TableRules.cells))
    }

    @Test func `the README has at most 150 lines`() throws {
        #expect(
            try Tree.text("README.md").split(separator: "\n", omittingEmptySubsequences: false)
                .count <= 151)
    }

    @Test func `replaced names are gone from declarations, files and folders`() throws {
        let files = try Tree.sources.get().map {
            (file: $0, declarations: GlossaryRules.declarations($0))
        }
        #expect(files.reduce(0) { $0 + $1.declarations.count } > 30_000)
        expectNone(
            GlossaryRules.declared(
                files, remaining: Glossary.remaining, exceptions: Glossary.exceptions))
        expectNone(GlossaryRules.named(try Tree.paths(), remaining: Glossary.remainingPaths))
        expectNone(GlossaryRules.verbs(files, limits: Glossary.verbs))
        expectNone(files.flatMap { ProseRules.names($0.file, $0.declarations) })
    }

    private func expectNone(_ findings: [Finding], at location: SourceLocation = #_sourceLocation) {
        let list = findings.map { "\n" + $0.description }.joined()
        #expect(findings.isEmpty, "\(list)", sourceLocation: location)
    }

    private func swift(_ rule: (SourceFile) -> [Finding]) throws -> [Finding] {
        let files = try Tree.sources.get()
        try #require(files.count > 100, "the tree was not found at \(Tree.root)")
        return files.flatMap(rule)
    }
}
