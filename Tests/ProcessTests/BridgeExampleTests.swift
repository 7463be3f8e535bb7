import Foundation
import Glibc
import TandemIO
import TestSupport
import Testing

/// The documentation page with examples in other languages: each is run, and prints the output
/// below it.
@Suite(.ownThread) struct BridgeExampleTests {
    /// A piece of a program and its expected output.
    struct Example: CustomTestStringConvertible, Sendable {
        var language: String
        var number: Int
        var code: String
        var output: String
        var testDescription: String { "\(language) \(number)" }
    }

    /// The examples of the page: code blocks, each followed by a text block with its output.
    static let examples: [Example] = {
        let parts = #filePath.split(separator: "/").dropLast(3)
        let page =
            "/" + parts.joined(separator: "/") + "/Client/Tandem/Tandem.docc/BridgeExamples.md"
        let text = (try? String(contentsOfFile: page, encoding: .utf8)) ?? ""
        // Every other piece is inside a block.
        let blocks = text.components(separatedBy: "\n```").enumerated()
            .filter { !$0.offset.isMultiple(of: 2) }.map(\.element)
        return zip(blocks, blocks.dropFirst()).enumerated().compactMap { number, pair in
            let (code, output) = (split(pair.0), split(pair.1))
            guard code.language != "text", output.language == "text" else { return nil }
            return Example(
                language: code.language, number: number, code: code.text, output: output.text)
        }
    }()

    private static func split(_ block: String) -> (language: String, text: String) {
        let language = block.prefix { $0 != "\n" }
        return (String(language), block.dropFirst(language.count + 1) + "\n")
    }

    @Test func `the page has examples for each language, and all of them are run`() throws {
        let languages = Self.examples.map(\.language)
        #expect(Set(languages) == ["sh", "python", "javascript"])
        #expect(languages.filter { $0 == "sh" }.count == 2)
    }

    @Test(arguments: of("sh")) func `a shell example prints the output on the page`(
        _ example: Example
    ) throws { try run(example, "sh", "-c") }

    @Test(
        .enabled(if: isInstalled("python3"), "python3 is not installed"), arguments: of("python"))
    func `a Python example prints the output on the page`(_ example: Example) throws {
        try run(example, "python3", "-c")
    }

    @Test(.enabled(if: isInstalled("node"), "node is not installed"), arguments: of("javascript"))
    func `a Node example prints the output on the page`(_ example: Example) throws {
        try run(example, "node", "-e")
    }

    private static func of(_ language: String) -> [Example] {
        examples.filter { $0.language == language }
    }

    private func run(_ example: Example, _ program: String, _ option: String) throws {
        let place = try Place()
        let daemon = try place.serve()
        defer { daemon.end(SIGTERM) }
        let path = ThisProcess.environment("PATH") ?? "/usr/bin:/bin"
        let run = try CommandRun(
            path: "/usr/bin/env",
            [
                "-C", place.path, "PATH=\(DaemonProcess.products):\(path)",
                "TANDEM_SOCKET=\(place.socket)", "timeout", "60", program, option, example.code,
            ])
        #expect(run.code == 0, "\(run.output)")
        #expect(run.output == example.output)
    }
}
