import Testing

/// Samples for every rule: some that break the rule and some that do not.
@Suite struct RuleTests {
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

    @Test func `unsafe access is found`() {
        let lines = "let a: Unmanaged<A>\n@exclusivity(unchecked) var b = 1\nlet c = 1"
        let found = { (path: String) in Rules.unsafeAccess(file(path, lines)).map(\.line) }
        #expect(found("Client/Tandem/A.swift") == [1, 2])
        #expect(found("Client/Tandem/Context/ObjectRecord.swift") == [1])
        #expect(found("Sources/TandemIO/A.swift") == [1, 2])
        #expect(found("Sources/TandemIO/Kernel/KernelThread.swift") == [2])
        #expect(found("Tests/TidyTests/A.swift") == [])
    }

    @Test func `a part whose context is not retained is found`() {
        let lines = """
            context?.graph.sweep()
            managedObjectContext?.reporter.notify()
            parent?.graph.sweep()
            binding.context?.graph.propertyCache
            if let context { context.graph.sweep() }
            """
        let found = { (path: String) in Rules.unretainedParts(file(path, lines)).map(\.line) }
        #expect(found("Client/Tandem/A.swift") == [1, 2])
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
}

/// Returns a file of a sample tree.
func file(_ path: String, _ text: String) -> SourceFile { SourceFile(path: path, text: text) }

/// Returns findings as texts.
func messages(_ findings: [Finding]) -> [String] { findings.map(\.description) }
