import Tandem
import Testing

/// The help of each verb, which fits a screen of 80 columns and 40 lines.
@Suite(.ownThread) struct HelpTests {
    private func verbs(_ command: JSON, _ parents: [String]) -> [[String]] {
        (command["subcommands"]?.array ?? []).flatMap { verb -> [[String]] in
            guard let name = verb["commandName"]?.string, name != "help" else { return [] }
            return [parents + [name]] + verbs(verb, parents + [name])
        }
    }

    @Test func `the help of every verb fits a screen`() throws {
        let dump = try CommandRun("tandem", ["--experimental-dump-help"])
        let root = try #require(try JSON(parsing: dump.output)["command"])
        let verbs = verbs(root, [])
        #expect(verbs.count > 15)
        for verb in verbs {
            let run = try CommandRun("tandem", verb + ["--help"])
            #expect(run.code == 0)
            let lines = run.output.split(separator: "\n", omittingEmptySubsequences: false)
            // The text ends with two newlines.
            #expect(lines.count - 2 <= 40, "\(verb): \(lines.count - 2) lines")
            // The synopsis is one line, however long.
            let text = lines.filter { !$0.hasPrefix("USAGE:") }
            #expect(text.allSatisfy { $0.count <= 80 }, "\(verb)")
            // Only the verbs that read the log have a format with all details.
            if !["log", "history"].contains(verb.first) {
                #expect(!run.output.contains("verbose,"), "\(verb)")
            }
        }
    }
}
