import Testing

/// Samples for the rules on the size of types.
@Suite struct SizeRuleTests {
    private func file(_ name: String, _ text: String) -> SourceFile {
        SourceFile(path: "Sources/TandemWire/Frames/\(name)", text: text)
    }

    @Test func `a type's size includes its extensions in all files`() {
        let sizes = SizeRules.sizes([
            file(
                "A.swift",
                """
                final class A: B {
                    private var one = 1
                    private(set) var two: Int { didSet {} }
                    var three = { 3 }
                    let four = 4
                    static var five = 5
                    var six: Int { 6 }
                    var seven: Int {
                        let local = 7
                        return local
                    }
                }

                enum Empty {}
                """),
            file("A+B.swift", "extension A {\n    func b() {}\n}\n\nextension A.Nested {\n}"),
        ])
        #expect(
            sizes["Sources/TandemWire A"]
                == SizeRules.Size(
                    lines: 17,
                    files: [
                        "Sources/TandemWire/Frames/A.swift", "Sources/TandemWire/Frames/A+B.swift",
                    ], properties: 4, openVariables: 1))
        #expect(sizes["Sources/TandemWire Empty"]?.lines == 1)
    }

    @Test func `a struct's variables are not counted as open`() {
        let sizes = SizeRules.sizes([file("A.swift", "public struct A {\n    var a = 1\n}")])
        #expect(sizes["Sources/TandemWire A"]?.properties == 1)
        #expect(sizes["Sources/TandemWire A"]?.openVariables == 0)
    }

    @Test func `types above a limit are found, unless they are known`() {
        let sizes = ["M A": SizeRules.Size(lines: 12), "M B": SizeRules.Size(lines: 9)]
        func found(_ known: [String: String]) -> [String] {
            let limit = SizeRules.Limit(name: "lines", value: 10, known: known, measure: \.lines)
            return SizeRules.findings(sizes, [limit]).map(\.description)
        }
        let new = "M A: has 12 lines, more than 10; give a part of its work to another type"
        #expect(found([:]) == [new])
        #expect(found(["M A": "because"]) == [])
        #expect(
            found(["M A": "because", "M B": "because"])
                == ["M B: has at most 10 lines now; remove the exception"])
    }
}
