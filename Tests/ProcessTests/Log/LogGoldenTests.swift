import Foundation
import Tandem
import TandemIO
import Testing

/// `tandem log` in every format, over a journal whose every byte is known.
@Suite(.ownThread) struct LogGoldenTests {
    let journal: MadeJournal

    init() throws { journal = try MadeJournal() }

    private func tandem(_ arguments: String..., zone: String = MadeJournal.zone) throws
        -> CommandRun
    {
        try journal.tandem(arguments, zone: zone)
    }

    private func log(_ arguments: String...) throws -> [String] {
        let run = try CommandRun(
            path: "/usr/bin/env",
            ["TZ=\(MadeJournal.zone)", DaemonProcess.products + "/tandem", "log"] + arguments
                + ["-o", "json", "-D", journal.store])
        #expect(run.code == 0, "\(run.output)")
        return run.json.compactMap { $0["position"]?.int.map(String.init) }
    }

    @Test(arguments: [
        "short", "short-iso", "verbose", "json", "json-pretty", "csv", "export", "cat",
    ])
    func `every format prints the content of its golden file`(_ format: String) throws {
        let run = try tandem("log", "-o", format)
        #expect(run.code == 0)
        try Golden.expect(run.output, "log.\(format)")
    }

    @Test(arguments: ["verbose", "json", "csv", "export"])
    func `only the requested output fields are printed`(_ format: String) throws {
        let keys = format == "csv" ? "position,property,after" : "position,author,changes"
        let run = try tandem("log", "-o", format, "--output-fields", keys, "-n", "2")
        try Golden.expect(run.output, "log.\(format).fields")
        #expect(try tandem("log", "-o", format, "--output-fields", "nope").code == 2)
    }

    @Test func `show prints one transaction as a difference with names`() throws {
        for position in 1...5 {
            let run = try tandem("log", "show", "\(position)")
            #expect(run.code == 0)
            try Golden.expect(run.output, "show.\(position)")
        }
        let short = try tandem("log", "show", "3", "-o", "short")
        #expect(try short.output == tandem("log", "--from", "3", "--to", "3").output)
        #expect(try tandem("log", "--help").output.contains("-N: all fields"))
        #expect(try tandem("log", "show", "6").code == 1)
        #expect(try tandem("log", "show", "x").code == 2)
        #expect(try tandem("log", "show").code == 2)
    }

    @Test func `colour is printed only on request`() throws {
        let run = try tandem("log", "--color", "always", "-n", "3")
        try Golden.expect(run.output, "log.color")
        #expect(try !tandem("log").output.contains("\u{1b}"))
    }

    @Test
    func `a repeated hour is unambiguous in output, and means the first one in input`()
        throws
    {
        #expect(try log("-S", "2026-10-25 02:30") == ["1", "2", "3", "4", "5"])
        #expect(try log("-S", "2026-10-25 02:31") == ["3", "4", "5"])
        #expect(try log("-S", "2026-10-25 03:00") == ["5"])
        #expect(try log("-S", "2026-10-25 01:00", "--utc") == ["3", "4", "5"])
        #expect(try log("-S", "2026-10-25T01:00:00Z") == ["3", "4", "5"])
        #expect(try log("-U", "2026-10-25T01:00:00Z") == ["1", "2"])
        #expect(try log("-S", "@1792890000.123456", "-U", "@1792890000.123457") == ["3"])
        #expect(try tandem("log", "-S", "soon").code == 2)
    }

    /// The journal's times are in October 2026, in the past or the future depending on the
    /// machine's clock.
    @Test func `named days are relative to today`() throws {
        let all = ["1", "2", "3", "4", "5"]
        let isPast = Date().timeIntervalSince1970 > 1_792_888_200
        for day in ["yesterday", "today"] {
            #expect(try log("-S", day) == (isPast ? [] : all))
            #expect(try log("-U", day) == (isPast ? all : []))
        }
    }

    @Test
    func `repeated fields are alternatives, different ones are combined, + separates alternatives`()
        throws
    {
        #expect(try log("author=setup") == ["1", "2"])
        #expect(try log("author=setup", "author=cleaner") == ["1", "2", "5"])
        #expect(try log("author=setup", "op=insert") == ["2"])
        #expect(try log("author=setup", "op=model") == ["1"])
        #expect(try log("author=cleaner", "+", "property=team") == ["2", "4", "5"])
        #expect(try log("entity=Team", "op=update") == ["3"])
        #expect(try log("object=Player/3") == ["2", "4"])
        #expect(try log("position=3", "position=5") == ["3", "5"])
        #expect(try log("-t", "setup", "-t", "cleaner") == ["1", "2", "5"])
        #expect(try log("-u", "score") == ["4"])
        #expect(try log("-O", "Team/1") == ["2", "3", "4", "5"])
        #expect(try log("-O", "Team/1", "-p", "wins") == ["2", "3", "5"])
        #expect(try log("-p", "Player.team") == ["2", "4"])
        #expect(try log("-g", "senegal") == ["2"])
        #expect(try log("-g", "SENEGAL") == [])
        #expect(try log("-g", "wins 0→1") == ["3"])
        for wrong in [["a=b"], ["author"], ["+"], ["-g", "("], ["-O", "Team"], ["-p", "nope"]] {
            #expect(try CommandRun("tandem", ["log", "-D", journal.store] + wrong).code == 2)
        }
    }

    @Test func `a start beyond the next position is an error, and the cursor file is unchanged`()
        throws
    {
        expect(try tandem("log", "--from", "6"), 0, "-- No entries --")
        expect(try tandem("log", "--after-cursor", "5"), 0, "-- No entries --")
        let message = "the last one is 5"
        expect(try tandem("log", "--from", "7"), 1, "position 7 does not exist yet", message)
        expect(try tandem("log", "-c", "999"), 1, "position 999 does not exist yet", message)
        expect(try tandem("log", "--after-cursor", "6"), 1, "position 6 does not", message)
        let file = NSTemporaryDirectory() + "cursor-\(UUID())"
        defer { try? FileManager.default.removeItem(atPath: file) }
        try "999\n".write(toFile: file, atomically: true, encoding: .utf8)
        expect(try tandem("log", "--cursor-file", file), 1, "position 999 does not", message)
        #expect(try String(contentsOfFile: file, encoding: .utf8) == "999\n")
    }

    @Test func `an unknown entity is a usage error`() throws {
        let run = try tandem("log", "-E", "Nope")
        #expect(run.code == 2)
        #expect(run.lines.count == 1 && run.output.contains("no entity `Nope`"))
        #expect(try tandem("log", "entity=Nope").code == 2)
        #expect(try tandem("log", "object=Nope/1").code == 2)
    }

    @Test func `fields and their values are listed`() throws {
        #expect(try CommandRun("tandem", ["log", "-N"]).lines.count == 11)
        #expect(
            try tandem("log", "-F", "author").lines == ["cleaner", "setup", "worldcup score"])
        #expect(try tandem("log", "-F", "property").lines == ["name", "players", "team", "wins"])
        #expect(try tandem("log", "-F", "op", "-E", "Player").lines == ["insert", "update"])
        #expect(try tandem("log", "-F", "nope").code == 2)
    }

    @Test func `a cursor file resumes where the last run ended`() throws {
        let file = journal.place.path + "/cursor"
        #expect(try log("--cursor-file", file, "--to", "3") == ["1", "2", "3"])
        #expect(try log("--cursor-file", file) == ["4", "5"])
        #expect(try log("--cursor-file", file) == [])
        #expect(try log("--after-cursor", "4") == ["5"])
        #expect(try log("-c", "4") == ["4", "5"])
        let run = try tandem("log", "-n", "1", "--show-cursor")
        #expect(run.lines.last == "-- cursor: 5")
        #expect(try tandem("log", "-c", "4", "--from", "3").code == 2)
    }

    @Test func `-n counts from a cursor, and the file keeps the last cursor of a forward run`()
        throws
    {
        let file = journal.place.path + "/cursor"
        #expect(try log("--after-cursor", "1", "-n", "2") == ["2", "3"])
        #expect(try log("-c", "2", "-n", "1") == ["2"])
        #expect(try log("--cursor-file", file, "--to", "1") == ["1"])
        #expect(try log("--cursor-file", file, "-n", "2") == ["2", "3"])
        #expect(try log("--cursor-file", file, "-n", "0") == [])
        #expect(try log("--cursor-file", file, "-r", "-n", "1") == ["5"])
        #expect(try log("--cursor-file", file) == ["4", "5"])
    }

    @Test func `-r and -n select the same transactions in both directions`() throws {
        #expect(try log("-r") == ["5", "4", "3", "2", "1"])
        #expect(try log("-r", "-n", "2") == ["5", "4"])
        #expect(try log("-n", "2") == ["4", "5"])
        #expect(try log("-n", "2", "-t", "setup") == ["1", "2"])
        #expect(try log("-n", "0") == [])
    }
}
