import Testing

/// Samples for the rules on replaced names.
@Suite struct GlossaryRuleTests {
    private func names(_ text: String) -> [String] {
        GlossaryRules.declarations(file("Client/Tandem/A.swift", text)).map {
            "\($0.line): \($0.kind) \($0.name)"
        }
    }

    @Test func `the names that a file declares are found`() {
        let text = """
            public final class Reader<Element> {
                case first(Int), second
                // let comment = "func text"
                private let a = 1, b = 2; var c: Int
                func `reads a row`() {}
                static func make() {
                    if case let value = a {}
                    if case .first(let inner) = self {}
                }
                subscript(place: Int) -> Int { a }
            }
            """
        #expect(
            names(text) == [
                "1: class Reader", "2: case first", "4: let a", "4: var c", "5: func reads a row",
                "6: func make", "7: let value", "8: let inner",
            ])
    }

    @Test(
        arguments: [
            ("FetchedList", ["fetched", "list"]), ("isTold", ["is", "told"]),
            ("URLReader", ["url", "reader"]), ("a", ["a"]), ("LMDB", ["lmdb"]),
        ])
    func `a name is split into words`(_ name: String, _ words: [String]) {
        #expect(GlossaryRules.words(of: name) == words)
    }

    private func declared(
        _ text: String, in path: String = "Client/Tandem/A.swift", remaining: Set<String> = []
    ) -> [String] {
        let file = file(path, text)
        return messages(
            GlossaryRules.declared(
                [(file, GlossaryRules.declarations(file))], remaining: remaining,
                exceptions: ["heldRows": "rows of a sender"]))
    }

    @Test(arguments: [
        "struct Latch {", "struct LatchTests {", "struct ShownValuesTests {", "let shownValues = 1",
        "func checkLostEdits() {}", "func settle() {}", "@Test func `a Latch wakes a thread`() {",
        "typealias Rows = Int; enum HeldRows {",
    ])
    func `a replaced name is found`(_ line: String) {
        #expect(declared("\n" + line).count == 1)
    }

    @Test(arguments: [
        "let latch = a", "struct LastShownValues {", "// struct Latch {", "let a = Latch()",
        "let heldRows = 1", "func unsettled() {}", "struct Connection {",
    ])
    func `another name is not found`(_ line: String) {
        #expect(declared(line) == [])
    }

    @Test func `a name is found only within its scope`() {
        let daemon = "Daemon/TandemDaemon/A.swift"
        #expect(
            declared("class Connection {", in: daemon) == [
                "\(daemon):1: Connection: Connection is now ClientChannel"
            ])
        #expect(declared("class Session {", in: daemon) == [])
        #expect(declared("class Session {").count == 1)
    }

    @Test func `a remaining name is allowed until it is renamed`() {
        let remaining: Set<String> = ["Client/Tandem/A.swift: Latch"]
        #expect(declared("struct Latch {", remaining: remaining) == [])
        #expect(declared("struct Intake {", remaining: ["Client/Tandem/A.swift: Intake"]) == [])
        #expect(
            declared("struct ThreadSemaphore {", remaining: remaining) == [
                "Client/Tandem/A.swift: Latch: was renamed; remove it from the remaining names"
            ])
    }

    @Test func `a file or folder with a replaced name is found`() {
        let paths = [
            "Sources/tandem/Looking", "Sources/tandem/Objects", "Client/Tandem/Context+Latch.swift",
            "Client/Tandem/PassingRowsTests.swift", "Client/Tandem/Latches.swift",
            "Tests/A/World+Care.swift",
        ]
        #expect(
            messages(GlossaryRules.named(paths, remaining: ["Tests/A/World+Care.swift"])) == [
                "Client/Tandem/Context+Latch.swift: Latch is now ThreadSemaphore",
                "Client/Tandem/PassingRowsTests.swift: PassingRows is now FlyweightRows",
                "Sources/tandem/Looking: Looking is now Objects",
            ])
        #expect(GlossaryRules.named([], remaining: ["Tests/A"]).count == 1)
    }

    @Test func `a verb with more functions than allowed is found`() {
        let file = file(
            "Client/Tandem/A.swift", "func note() {}\nfunc note(_ a: Int) {}\nlet note = 1")
        let files = [(file: file, declarations: GlossaryRules.declarations(file))]
        #expect(GlossaryRules.verbs(files, limits: ["note": 2]) == [])
        #expect(
            messages(GlossaryRules.verbs(files, limits: ["note": 1])) == [
                "the sources: 2 functions are named note, more than 1"
            ])
    }

    @Test func `the table has each name once per scope, and no new name that is an old one`() {
        let rows = Glossary.rows
        #expect(rows.count > 150)
        #expect(Set(rows.map { $0.old + " " + $0.scope }).count == rows.count)
        for row in rows {
            #expect(GlossaryRules.row(row.new, in: row.scope) == nil, "\(row.new)")
        }
    }
}
