import Testing

/// Samples for the rules on folders.
@Suite struct FolderRuleTests {
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

    @Test func `folders that refer to each other are found`() {
        let (oneWay, both) = (FolderRules.arrows(wire), FolderRules.arrows(wire + [back]))
        #expect(FolderRules.pairs(oneWay) == [])
        #expect(
            messages(FolderRules.pairs(both)) == [
                "Sources/TandemWire/Frames: Frame.swift names Message in Sources/TandemWire/Messages, "
                    + "where Kind.swift names Frame in Sources/TandemWire/Frames"
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
        #expect(FolderRules.upward(arrows, pages: page("Frames", "Messages")) == [])
        let upside = page("Messages", "Frames")
        #expect(
            messages(FolderRules.upward(arrows, pages: upside)) == [
                "Sources/TandemWire/Frames: Frame.swift names Message in Sources/TandemWire/Messages, "
                    + "which Sources/TandemWire/TandemWire.docc/Wire.md lists above"
            ])
    }
}
