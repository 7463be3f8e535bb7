import Testing

/// Samples for the rules on prose and on the width of lines.
@Suite struct ProseRuleTests {
    private func sentences(_ path: String, _ text: String) -> [String] {
        Sentence.all(in: file(path, text)).map { "\($0.line): \($0.text)" }
    }

    // MARK: Sentences

    @Test func `the sentences of comments and of prose in string literals are found`() {
        let text = #"""
            /// Returns the next
            /// row. It may be nil.
            ///
            ///     let sample = code(1, 2, 3)
            ///
            /// - Parameter size: The number of rows.
            func next() {
                // Two words
                let a = b()  // Why the line is needed.
                throw Failure("the row \(count(of: "x")) has no number")
                let code = "SELECT name FROM table WHERE id"
                let words = """
                    A text that has several indented lines
                    is one sentence of the literal nevertheless.
                    """
            }
            """#
        #expect(
            sentences("Client/Tandem/A.swift", text) == [
                "1: Returns the next row.", "2: It may be nil.", "6: The number of rows.",
                "9: Why the line is needed.", "10: the row `_` has no number",
                "13: A text that has several indented lines is one sentence of the literal nevertheless.",
            ])
    }

    @Test func `the sentences of a page are found in paragraphs, lists and tables`() {
        let text = """
            # The title of it

            A sentence with `code. Of it`, e.g. A. Another
            one follows: The last.

            | name | words of a cell |
            |---|---|

            1. The first item here
            ```
            none of this counts
            ```
            """
        #expect(
            sentences("README.md", text) == [
                "1: The title of it", "3: A sentence with `code. Of it`, e.g. A.",
                "3: Another one follows:", "6: words of a cell", "9: The first item here",
            ])
    }

    // MARK: Phrases

    /// Returns the names of the rows that a comment breaks.
    private func broken(_ text: String, _ slashes: String = "//") -> [String] {
        Sentence.all(in: file("Client/Tandem/A.swift", "\(slashes) \(text)")).flatMap { sentence in
            Phrases.broken(by: sentence).map(\.name)
        }
    }

    @Test(
        arguments: [
            ("What it returns is a row.", "what"),
            ("The row is old; whatever follows is new.", "what"),
            ("Who asks gets a row.", "who"),
            ("Of those rows one is read.", "of"),
            ("Where no row is found, it fails.", "where"),
            ("The result is nil where it fails.", "where"),
            ("It is sent to who asks first.", "free who"),
            ("It goes to whoever asks.", "free who"),
            ("The row behind the last one.", "behind"),
            ("The store stands at a position.", "stands"),
            ("It is a row that nobody reads.", "nobody"),
            ("Begins the read anew.", "anew"),
            ("The observer is told.", "told"),
            ("The client hears of it.", "told"),
            ("It reads so many rows.", "so many"),
            ("The context waits for so long.", "so many"),
            ("The thing that became of it.", "came of"),
            ("A read goes on.", "goes on"),
            ("Another save is under way.", "idiom"),
        ])
    func `a phrase that is hard to understand is found`(_ text: String, _ row: String) {
        #expect(broken(text) == [row])
        #expect(broken(text + " Is it?").contains(row))
        #expect(broken("The words `\(text)` are code.") == [])
    }

    @Test(arguments: [
        "What if no row is found", "What is a row, and what is not?", "The reader falls behind.",
        "Errors behind the scenes are lost.", "The name stands for a row.",
        "It has as many rows.", "The row goes on to the next stage.", "Their wherefore is unknown.",
        "A told-you-so is no phrase.", "The nil. Where is it?",
    ])
    func `a phrase with another meaning is not found`(_ text: String) {
        #expect(broken(text) == [])
    }

    @Test func `a summary that begins with a pronoun or a weak verb is found`() {
        #expect(broken("It reads a row.", "///") == ["pronoun"])
        #expect(broken("Does so for a row.", "///") == ["pronoun"])
        #expect(broken("Lets a reader wait.", "///") == ["weak verb"])
        #expect(broken("Notes that a row changed.", "///") == ["weak verb"])
        #expect(broken("Reads a row. It may be nil.", "///") == [])
        #expect(broken("It reads a row.") == [])
    }

    // MARK: Modules

    /// Returns a page with one bad sentence and some good ones.
    private func page(_ good: Int, path: String = "Sources/TandemIO/A.md") -> SourceFile {
        let text = String(repeating: "The row is good.\n\n", count: good)
        return file(path, "Nobody reads it.\n\n" + text)
    }

    private func excessive(_ files: [SourceFile], pages: [String: Int] = [:]) -> Int {
        ProseRules.excessive(
            ProseRules.modules(files), knownMessages: ["Sources/tandem": 1], knownPages: pages
        ).count
    }

    @Test func `a module with many phrases is found, and so is a page with any`() {
        let known = ["Sources/TandemIO/A.md": 1]
        #expect(excessive([page(199)]) == 1)
        #expect(excessive([page(199)], pages: known) == 0)
        #expect(excessive([page(198)], pages: known) == 1)
        #expect(excessive([page(0, path: "README.md")]) == 1)
        let comments = String(repeating: "// The row is good. So is it.\n\n", count: 100)
        let source = file("Sources/TandemIO/A.swift", comments + "// Nobody reads it.")
        #expect(excessive([source]) == 0)
        #expect(excessive([source, file("Sources/TandemIO/B.swift", "// Begins anew here.")]) == 2)
        #expect(excessive([file("Sources/TandemIO/A.swift", "// Nobody reads it.")]) == 1)
    }

    @Test func `messages are counted apart, up to the known number`() {
        let text = "throw Failure(\"nobody reads the row\")"
        #expect(excessive([file("Sources/tandem/A.swift", text)]) == 0)
        #expect(excessive([file("Sources/TandemIO/A.swift", text)]) == 1)
        #expect(excessive([file("Sources/tandem/A.swift", text + "\n" + text)]) == 2)
        let exempt = ProseRules.exempt.map { file($0, text) }
        #expect(ProseRules.modules(exempt).isEmpty)
    }

    @Test func `a name of a test with such a phrase is found`() {
        func names(_ text: String) -> [Int?] {
            let test = file("Tests/TandemTests/A.swift", text)
            return ProseRules.names(test, GlossaryRules.declarations(test)).map(\.line)
        }
        #expect(names("\n@Test func `nobody reads a row`() {") == [2])
        #expect(names("@Test func `no client reads a row`() {") == [])
        #expect(names("@Test func nobody() {") == [])
    }

    // MARK: Width

    @Test func `a comment that is too wide is found, except samples, tables and addresses`() {
        func found(_ line: String) -> [Int?] {
            WidthRules.comments(file("Sources/TandemIO/A.swift", "\n" + line)).map(\.line)
        }
        let long = String(repeating: "a", count: 96)
        #expect(found("//  " + long) == [])
        #expect(found("//   " + long) == [2])
        #expect(found("///  é" + long.dropFirst(2)) == [])
        #expect(found("let a = 1  // " + long) == [2])
        #expect(found("///     " + long) == [])
        #expect(found("/// | " + long) == [])
        #expect(found("/// https://" + long) == [])
        #expect(found("let text = \"" + long + "\"") == [])
    }

    @Test func `a line of a page that is too wide is found, except tables and code`() {
        let long = String(repeating: "a", count: 121)
        let text =
            "\(long)\n| \(long)\n    \(long)\n```\n\(long)\n```\n[a](https://\(long))\n\(long)"
        #expect(
            messages(WidthRules.lines(file("README.md", text))) == [
                "README.md:1: is 121 columns wide, more than 120",
                "README.md:8: is 121 columns wide, more than 120",
            ])
        #expect(WidthRules.lines(file("README.md", String(long.dropLast()))) == [])
    }
}
