import Testing

/// Samples for every rule: one that breaks the rule and one that does not.
@Suite struct RuleTests {
    private func file(_ path: String, _ text: String) -> SourceFile {
        SourceFile(path: path, text: text)
    }

    private func messages(_ findings: [Finding]) -> [String] { findings.map(\.description) }

    // MARK: Code

    @Test func `comments and the contents of strings are not code`() {
        let code = Code(
            """
            let a = "print(1)" // print(2)
            let b = #"a "quoted" try"# + c
            let d = \"""
                print(3)
                \"""; print(4)
            let e = "\\"print(5)" + f
            """)
        #expect(
            code.lines == [
                "let a = \"\" ", "let b = \"\" + c", "let d = \"\"", "", "; print(4)",
                "let e = \"\" + f",
            ])
    }

    // MARK: Imports

    @Test(arguments: [
        ("Sources/TandemResults/A.swift", "import TandemWire"),
        ("Sources/TandemJournal/A.swift", "public import TandemModel"),
        ("Client/Tandem/A.swift", "import TandemDaemon"),
        ("Daemon/TandemDaemon/A.swift", "@_exported public import Tandem"),
        ("Daemon/TandemDaemon/A.swift", "import CLMDB"),
        ("Client/Tandem/A.swift", "import Glibc"),
        ("Client/Tandem/A.swift", "import struct Foundation.Date"),
        ("Sources/TandemIO/A.swift", "import ArgumentParser"),
        ("Sources/worldcup/A.swift", "import TandemStore"),
    ])
    func `a forbidden import is found`(_ path: String, _ line: String) {
        let module = line.split(separator: " ").last?.split(separator: ".").first ?? ""
        #expect(Rules.module(line) == String(module))
        #expect(Rules.imports(file(path, "// first\n" + line)).map(\.line) == [2])
    }

    @Test(arguments: [
        ("Sources/TandemResults/A.swift", "public import TandemModel"),
        ("Sources/TandemIO/A.swift", "import Glibc"),
        ("Client/TandemEmbedded/A.swift", "import TandemIO"),
        ("Sources/tandem/A.swift", "import ArgumentParser"),
        ("Client/Tandem/A.swift", "// import TandemDaemon"),
        ("Client/Tandem/A.swift", "let text = \"import TandemDaemon\""),
        ("Tests/TandemTests/A.swift", "import TandemDaemon"),
    ])
    func `an allowed import is not found`(_ path: String, _ line: String) {
        #expect(Rules.imports(file(path, line)) == [])
    }

    // MARK: Lines

    @Test func `leftover reminders and forced tries are found`() {
        let text = "// FIX" + "ME: later\nlet a = try" + "! b()\nlet toDo = 1"
        #expect(
            messages(Rules.leftovers(file("Sources/TandemIO/A.swift", text))) == [
                "Sources/TandemIO/A.swift:1: FIX" + "ME left over",
                "Sources/TandemIO/A.swift:2: a forced try",
            ])
    }

    @Test func `a claim without a guard is found`() {
        let bare = file("Sources/TandemIO/A.swift", "\nfinal class A: @unchecked Sendable {}")
        let commented = file(
            "Sources/TandemIO/A.swift",
            "// Guarded by the mutex.\nnonisolated(unsafe) var a = 1")
        #expect(Rules.guards(bare).map(\.line) == [2])
        #expect(Rules.guards(commented) == [])
    }

    @Test func `unsafe access in the client is found`() {
        let lines = "let a: Unmanaged<A>\n@exclusivity(unchecked) var b = 1\nlet c = 1"
        let found = { (path: String) in Rules.unsafeAccess(file(path, lines)).map(\.line) }
        #expect(found("Client/Tandem/A.swift") == [1, 2])
        #expect(found("Client/Tandem/Context/ObjectRecord.swift") == [1])
        #expect(found("Sources/TandemIO/A.swift") == [])
    }

    @Test func `a printing library is found`() {
        let lines = "print(1)\nlevel.print(2)\nfunc print(_ a: Int) {}\n/// print(3)\nfootprint(4)"
        #expect(Rules.printing(file("Client/Tandem/A.swift", lines)).map(\.line) == [1])
        #expect(Rules.printing(file("Sources/tandem/A.swift", lines)) == [])
    }

    @Test func `a sleeping test is found`() {
        let lines = "usleep(5)\ntry await Task.sleep(for: .seconds(1))\nlet asleep = 1"
        #expect(Rules.sleeps(file("Tests/TandemTests/A.swift", lines)).map(\.line) == [1, 2])
        #expect(Rules.sleeps(file("Client/Tandem/A.swift", lines)) == [])
        #expect(Rules.sleeps(file("Tests/Benchmarks/Sources/A.swift", lines)) == [])
    }

    @Test func `a random test of a fixed seed is found`() {
        let lines = """
            var a = SplitMix64(seed: 4)
            var b = RandomValue(1)
            var c = SplitMix64(seed: seed)
            var d = SystemRandomNumberGenerator()
            """
        #expect(Rules.seeds(file("Tests/TandemTests/A.swift", lines)).map(\.line) == [1, 2, 4])
        #expect(Rules.seeds(file("Tests/FuzzTargets/A.swift", lines)) == [])
        #expect(Rules.seeds(file("Client/Tandem/A.swift", lines)) == [])
    }

    // MARK: Folders

    /// A module of two folders, in which `Frames` refers to `Messages`.
    private let wire = [
        SourceFile(
            path: "Sources/TandemWire/Frames/Frame.swift",
            text: """
                public struct Frame {
                    struct Message {}
                    var content: Message
                }
                """),
        SourceFile(
            path: "Sources/TandemWire/Messages/Message.swift",
            text: """
                // Sent in a Frame.
                @MainActor public final class Message {
                    let name = "Frame"
                }
                """),
    ]

    private let back = SourceFile(
        path: "Sources/TandemWire/Messages/Kind.swift", text: "enum Kind { case a(Frame) }")

    @Test(
        arguments: [
            ("public struct Frame {", "Frame"),
            ("indirect enum Kind: Int {", "Kind"),
            ("@MainActor private final class A_1<Element> {", "A_1"),
            ("protocol P2: AnyObject {", "P2"),
            ("    struct Nested {", nil),
            ("extension Frame {", nil),
            ("func make() {", nil),
            ("let a = Frame()", nil),
            ("", nil),
        ] as [(String, String?)])
    func `a line declares a type only at the top level`(_ line: String, _ type: String?) {
        #expect(FolderRules.declaredType(line) == type)
    }

    @Test func `references between folders are found in code only`() {
        let arrow = FolderRules.Arrow(
            from: "Sources/TandemWire/Frames", to: "Sources/TandemWire/Messages")
        #expect(FolderRules.arrows(wire) == [arrow: "Frame.swift names Message"])
        let other = file("Sources/TandemJournal/Segments/A.swift", "struct Kind { var a: Frame }")
        let test = file("Tests/TandemWireTests/A/A.swift", "struct Test { var a: Frame }")
        #expect(FolderRules.arrows(wire + [other, test]).count == 1)
        #expect(FolderRules.arrows(wire + [back]).keys.sorted() == [arrow, arrow.reversed])
    }

    @Test func `folders that refer to each other are found, unless the pair is known`() {
        let pair = FolderRules.Arrow(
            from: "Sources/TandemWire/Frames", to: "Sources/TandemWire/Messages")
        let (oneWay, both) = (FolderRules.arrows(wire), FolderRules.arrows(wire + [back]))
        #expect(FolderRules.pairs(oneWay, known: []) == [])
        #expect(
            messages(FolderRules.pairs(both, known: [])) == [
                "Sources/TandemWire/Frames: Frame.swift names Message in Sources/TandemWire/Messages, "
                    + "where Kind.swift names Frame in Sources/TandemWire/Frames"
            ])
        #expect(FolderRules.pairs(both, known: [pair]) == [])
        #expect(
            messages(FolderRules.pairs(oneWay, known: [pair])) == [
                "Sources/TandemWire/Frames: does not form a pair with Sources/TandemWire/Messages any "
                    + "more; remove the known pair"
            ])
    }

    /// Returns the page of `TandemWire` with rows for these folders.
    private func page(_ folders: String...) -> [SourceFile] {
        let rows = folders.map { "| `\($0)/` | words |\n" }.joined()
        let text = """
            # ``TandemWire``

            ### Folders

            | folder | content |
            |---|---|
            \(rows)
            ## Topics

            | `Other/` | words |
            """
        return [file("Sources/TandemWire/TandemWire.docc/Wire.md", text)]
    }

    @Test func `a folder that its module's page omits is found, and so is a stale row`() {
        #expect(FolderRules.unlisted(wire, pages: page("Frames", "Messages")) == [])
        #expect(
            messages(FolderRules.unlisted(wire, pages: page("Frames", "Coding"))) == [
                "Sources/TandemWire/TandemWire.docc/Wire.md: does not list the folder "
                    + "Sources/TandemWire/Messages",
                "Sources/TandemWire/TandemWire.docc/Wire.md: lists Sources/TandemWire/Coding, which has "
                    + "no files",
            ])
        let root = file("Sources/TandemWire/A.swift", "struct A {}")
        #expect(FolderRules.unlisted([root], pages: page()) == [])
        #expect(FolderRules.unlisted(wire + [root], pages: page("Frames", "Messages")).count == 1)
        let all = page("TandemWire", "Frames", "Messages")
        #expect(FolderRules.unlisted(wire + [root], pages: all) == [])
    }

    @Test func `a folder that refers to one above it in the page is found`() {
        let arrows = FolderRules.arrows(wire)
        #expect(FolderRules.upward(arrows, pages: page("Frames", "Messages"), known: []) == [])
        let upside = page("Messages", "Frames")
        #expect(
            messages(FolderRules.upward(arrows, pages: upside, known: [])) == [
                "Sources/TandemWire/Frames: Frame.swift names Message in Sources/TandemWire/Messages, "
                    + "which Sources/TandemWire/TandemWire.docc/Wire.md lists above"
            ])
        let known = Set(arrows.keys)
        #expect(FolderRules.upward(arrows, pages: upside, known: known) == [])
    }

    // MARK: Assertions

    @Test func `a module with few assertions is found`() {
        let places = AssertionRules.places
        func files(_ text: String, lines: Int) -> [SourceFile] {
            places.map { place in
                let blank = String(repeating: "\n", count: lines - 1)
                return file(place + "/A.swift", (place == places[0] ? text : "assert(a)") + blank)
            }
        }
        let found = AssertionRules.sparse(files("assert(a)", lines: 126))
        #expect(
            messages(found).first
                == places[0] + ": 1 assertions in 126 lines are fewer than 8 per 1,000")
        #expect(found.map(\.path) == places)
        #expect(AssertionRules.sparse(files("assert(a)", lines: 125)) == [])
        for text in ["precondition(a)", "self.checkInvariants()", "guard b else { verify() }"] {
            #expect(AssertionRules.sparse(files(text, lines: 125)) == [])
        }
        for text in ["// assert(a)", "let a = \"assert(a)\"", "reassert(a)", "assert"] {
            #expect(AssertionRules.sparse(files(text, lines: 125)).map(\.path) == [places[0]])
        }
    }

    // MARK: The package

    @Test func `an unknown and a missing name on the top level are found`() {
        let names = Layout.topLevel.subtracting(["Makefile"]).union(["notes"]).sorted()
        #expect(
            messages(PackageRules.topLevel(names)) == [
                "Makefile: is missing", "notes: does not belong to the top level",
            ])
    }

    @Test func `a manifest that contradicts the design is found`() {
        let sample = """
            .target(
                name: "TandemResults", dependencies: ["TandemModel", "TandemWire", arguments],
                path: "Client/TandemResults", swiftSettings: strict),
            .executableTarget(name: "extra", path: "Sources/extra")
            """
        let found = messages(PackageRules.manifest(sample))
        #expect(found.contains("Package.swift: TandemResults may not depend on TandemWire"))
        #expect(found.contains("Package.swift: TandemResults does not lie in Sources"))
        #expect(found.contains("Package.swift: TandemResults is no place for packages of others"))
        #expect(found.contains("Package.swift: the design knows no target extra"))
        #expect(found.contains("Package.swift: TandemIO is missing"))
    }

    @Test func `a row of the table of faults without its test is found`() {
        let page = """
            words
            | fault | behaviour | test |
            |---|---|---|
            | a | b | it holds |
            | c | d | itBends; it breaks |

            | other | table |
            | it does not matter | here |
            """
        let tests = [file("Tests/A.swift", "func `it holds`() {}\nfunc itBends() {}")]
        #expect(
            messages(FaultRules.missing(page, tests: tests)) == [
                "\(FaultRules.page):5: no test is it breaks"
            ])
    }

    @Test func `a row of shared names without its suite is found`() {
        let page = """
            words
            | Name | Here | Held by |
            |---|---|---|
            | a | b | OneTests, OtherTests of the daemon |
            | c | d | OneTests, GoneTests |
            | e | f | |

            | other | table |
            | it does not | matter |
            """
        let tests = [
            file("Tests/A.swift", "@MainActor @Suite struct OneTests {"),
            file("Tests/B.swift", "@Suite(.serialized)\nstruct OtherTests {"),
        ]
        #expect(
            messages(SuiteRules.missing(page, tests: tests)) == [
                "\(SuiteRules.page):5: no suite is GoneTests", "\(SuiteRules.page):6: no suite is ",
            ])
    }

    @Test func `a suite that may block a cooperative thread is found`() {
        func found(_ text: String, in target: String = "ProcessTests") -> Int {
            IsolationRules.unisolated(file("Tests/\(target)/A.swift", text)).count
        }
        #expect(found("@Suite struct ATests {\n    @Test func a() {}\n}") == 1)
        #expect(found("@Suite(.serialized)\nstruct ATests {") == 1)
        #expect(found("struct ATests {\n    @Test func a() {}\n}") == 1)
        #expect(found("@Test func free() {}") == 1)
        #expect(found("@Suite(.ownThread, .serialized) struct ATests {") == 0)
        #expect(found("@Suite(\n    .ownThread,\n    .serialized)\nstruct ATests {") == 0)
        #expect(found("@MainActor @Suite struct ATests {") == 0)
        #expect(found("@Suite @MainActor struct ATests {") == 0)
        #expect(found("@Suite struct ATests {", in: "TandemModelTests") == 0)
    }

    @Test func `a readme that omits a target is found`() {
        let all = Layout.targets.map { "`\($0.name)`" }
        #expect(PackageRules.readme(all.joined(separator: " ")) == [])
        #expect(PackageRules.readme(all.dropFirst().joined(separator: " ")).count == 1)
    }

    @Test func `a library without a front page is found`() {
        let pages = Layout.targets.filter(\.hasFrontPage).map {
            file("\($0.folder)/\($0.name)/\($0.name).docc/Page.md", "# ``\($0.name)``\n\nWords.")
        }
        #expect(PackageRules.frontPages(pages) == [])
        #expect(PackageRules.frontPages(Array(pages.dropLast())).count == 1)
    }
}
