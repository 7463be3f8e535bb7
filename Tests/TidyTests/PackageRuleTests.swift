import Testing

/// Samples for the rules on the manifest, pages and tables.
@Suite struct PackageRuleTests {
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
        #expect(found.contains("Package.swift: TandemResults is not in Sources"))
        #expect(
            found.contains("Package.swift: TandemResults may not depend on third-party packages"))
        #expect(found.contains("Package.swift: target extra is not part of the layout"))
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
                "\(FaultRules.page):5: there is no test it breaks"
            ])
    }

    @Test func `a row of shared names without its suite is found`() {
        let page = """
            words
            | Name | Here | Verified by |
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
                "\(SuiteRules.page):5: there is no suite GoneTests",
                "\(SuiteRules.page):6: there is no suite ",
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

    @Test func `a table of targets that omits a target or a link is found`() {
        let all = Layout.targets.map { "| `\($0.name)` | words | [page](a.md) |" }
        #expect(PackageRules.targetTable(all.joined(separator: "\n")) == [])
        #expect(PackageRules.targetTable(all.dropFirst().joined(separator: "\n")).count == 1)
        let elsewhere = Layout.targets.map { "| `other` | `\($0.name)` | |" }
        #expect(
            PackageRules.targetTable(elsewhere.joined(separator: "\n")).count
                == Layout.targets.count)
        let unlinked = Layout.targets.map { "| `\($0.name)` | words | |" }
        #expect(
            PackageRules.targetTable(unlinked.joined(separator: "\n")).count
                == Layout.targets.filter(\.hasFrontPage).count)
    }

    @Test func `a page that is too long is found`() {
        let text = String(repeating: "words\n", count: 150)
        #expect(PackageRules.length(file("README.md", text)) == [])
        #expect(
            messages(PackageRules.length(file("README.md", text + "words\n"))) == [
                "README.md: has 151 lines, more than 150"
            ])
        #expect(PackageRules.length(file("Tests/README.md", text + text)) == [])
    }

    @Test func `a link to a missing file is found, except in code`() {
        func found(_ text: String, in path: String = "A/B.docc/C.md") -> [String] {
            let present: Set<String> = ["README.md", "A/B.docc/C.md", "A/D.md"]
            return messages(LinkRules.broken([file(path, text)], exists: present.contains))
        }
        #expect(found("[a](../D.md#part) and <doc:C> and [b](https://a.b/c) and [c](#part)") == [])
        #expect(found("[a](A/D.md)", in: "README.md") == [])
        #expect(
            found("words\n[a](D.md) and <doc:E>") == [
                "A/B.docc/C.md:2: links E.md, which is missing",
                "A/B.docc/C.md:2: links D.md, which is missing",
            ])
        #expect(found("[a](../../../D.md)").count == 1)
        #expect(found("```\n[a](D.md)\n```\n\n    [a](D.md)") == [])
    }

    @Test(
        arguments: [
            ("Store", .type(["Store"])),
            ("Store.format", .type(["Store", "format"])),
            ("save()", .function(["save"])),
            ("Journal.append(expected:batch:)", .function(["Journal", "append"])),
            ("Sources/TandemIO/", .path("Sources/TandemIO")),
            ("Context+Saving.swift", .path("Context+Saving.swift")),
            ("limits.connections", nil),
            ("LMDB", nil),
            ("TANDEM_SEED", nil),
            ("make test", nil),
            ("/etc/tandem/NAME.yaml", nil),
            ("", nil),
        ] as [(String, ArchitectureRules.Name?)])
    func `a text in backticks is a name if it looks like code`(
        _ text: String, _ name: ArchitectureRules.Name?
    ) {
        #expect(ArchitectureRules.name(text) == name)
    }

    @Test func `a name on the page on the architecture that does not exist is found`() {
        let page = """
            `Frame`, `Frame.limit`, `Frame.gone`, `Lost`
            `send(to:)`, `Frame.send()`, `receive()`, `TandemWire`
            ```
            `InABlock`
            ```
            `Frames/Frame.swift`, `Sources/TandemWire/Frames/`, `Frames/Lost.swift`
            """
        let source = file(
            "Sources/TandemWire/Frames/Frame.swift",
            """
            public struct Frame {
                static let limit = 1
                // struct Lost {}
                func send(to place: Int) {}
            }
            """)
        let found = ArchitectureRules.missing(
            page, sources: [source], targets: ["TandemWire"],
            paths: [source.path, "Sources/TandemWire/Frames"])
        #expect(
            messages(found) == [
                "ARCHITECTURE.md:1: no source declares gone",
                "ARCHITECTURE.md:1: no source declares Lost",
                "ARCHITECTURE.md:2: no source declares receive()",
                "ARCHITECTURE.md:6: there is no Frames/Lost.swift",
            ])
    }

    @Test func `a target that the page on the architecture omits is found`() {
        let manifest = """
            func suite(_ name: String) -> Target { .testTarget(name: name) }
            let suites: [Target] = [
                suite("TandemIOTests", ["TandemIO"]),
            ]
            .target(name: "TandemIO", path: "Sources/TandemIO")
            """
        let targets = ArchitectureRules.targets(ofManifest: manifest)
        #expect(targets == ["TandemIO", "TandemIOTests"])
        #expect(
            messages(ArchitectureRules.unnamed("words and `TandemIO`", targets: targets)) == [
                "ARCHITECTURE.md: does not name the target `TandemIOTests`"
            ])
    }

    @Test func `a link of a comment to a page that its module lacks is found`() {
        let pages = [
            file("Sources/TandemWire/TandemWire.docc/Wire.md", "<doc:Frames>\nand <doc:Lost>"),
            file("Sources/TandemWire/TandemWire.docc/Frames.md", "words"),
            file("Sources/TandemStore/TandemStore.docc/Tables.md", "<doc:Frames>"),
        ]
        let source = file("Sources/TandemWire/Frames/A.swift", "/// <doc:Frames>, <doc:Gone>")
        #expect(
            messages(LinkRules.unknownPages([source], among: pages)) == [
                "Sources/TandemWire/Frames/A.swift:1: there is no page Gone"
            ])
    }

    @Test func `a library without a front page is found`() {
        let pages = Layout.targets.filter(\.hasFrontPage).map {
            file("\($0.folder)/\($0.name)/\($0.name).docc/Page.md", "# ``\($0.name)``\n\nWords.")
        }
        #expect(PackageRules.frontPages(pages) == [])
        #expect(PackageRules.frontPages(Array(pages.dropLast())).count == 1)
    }
}
