import Testing

@testable import TestRunner

/// The tree itself; how each rule bites is shown in `RuleTests`.
@Suite struct TidyTests {
    @Test func `imports follow the arrows of the design`() throws {
        try expectNone(swift(Rules.imports))
    }

    @Test func `nothing is left over`() throws { try expectNone(swift(Rules.leftovers)) }

    @Test func `what the compiler is told to believe names its guard`() throws {
        try expectNone(swift(Rules.guards))
    }

    @Test func `libraries do not print`() throws { try expectNone(swift(Rules.printing)) }

    @Test func `tests do not sleep`() throws { try expectNone(swift(Rules.sleeps)) }

    @Test func `random tests take a seed`() throws { try expectNone(swift(Rules.seeds)) }

    @Test func `invariants of journal, store, committer and lists are assertions`() throws {
        expectNone(AssertionRules.sparse(try Tree.sources.get()))
    }

    @Test func `tests that may block say where they run`() throws {
        try expectNone(swift(IsolationRules.unisolated))
    }

    @Test func `the top level is what the design names`() throws {
        try expectNone(PackageRules.topLevel(Tree.names().filter { $0 != "Package.resolved" }))
    }

    @Test func `the manifest has the arrows of the design`() throws {
        try expectNone(PackageRules.manifest(Tree.text("Package.swift")))
    }

    @Test func `the readme names every target`() throws {
        try expectNone(PackageRules.readme(Tree.text("README.md")))
    }

    @Test func `every library has a front page`() throws {
        let pages = try Tree.files(".md", in: ["Sources", "Client", "Daemon"])
        expectNone(PackageRules.frontPages(pages))
    }

    @Test func `every fault of the table has the test that it names`() throws {
        let page = try Tree.text(FaultRules.page)
        #expect(FaultTable(page: page).rows.count > 20)
        expectNone(FaultRules.missing(page, tests: try Tree.sources.get().filter(\.isTest)))
    }

    @Test func `every line about a name that Core Data has too has the suites that it names`()
        throws
    {
        let page = try Tree.text(SuiteRules.page)
        #expect(SuiteRules.namedSuites(page).count > 60)
        expectNone(SuiteRules.missing(page, tests: try Tree.sources.get().filter(\.isTest)))
    }

    @Test func `every source folder is a target`() throws {
        for folder in ["Sources", "Client", "Daemon"] {
            let expected = Layout.targets.filter { $0.folder == folder }.map(\.name).sorted()
            #expect(try Tree.names(in: folder) == expected)
        }
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
