import Tandem
import Testing

@testable import tandem

/// The short forms of the options of `tandem log`, and the errors for unknown values.
@Suite(.ownThread) struct LogOptionTests {
    let journal: MadeJournal

    init() throws { journal = try MadeJournal() }

    private func run(_ words: [String]) throws -> CommandRun {
        try CommandRun("tandem", words + ["-D", journal.store])
    }

    private func log(_ words: String...) throws -> [String] {
        let run = try run(["log"] + words + ["-o", "json"])
        #expect(run.code == 0, "\(words) \(run.output)")
        return run.json.compactMap { $0["position"]?.int.map(String.init) }
    }

    @Test func `values can be attached to short options, and short options combined`() throws {
        #expect(try log("-n2") == ["4", "5"])
        #expect(try log("-rn2") == ["5", "4"])
        #expect(try log("-rn", "2") == ["5", "4"])
        #expect(try log("-qrn=2") == ["5", "4"])
        #expect(try log("-EPlayer", "-rgteam") == ["4", "2"])
        #expect(try log("-S@1792890000.123456", "-U@1792890000.123457") == ["3"])
        #expect(try log("-S-1h").isEmpty == log("-S", "-1h").isEmpty)
        #expect(try log("-OTeam/1", "-pwins") == ["2", "3", "5"])
        #expect(try log("-tsetup", "-c2") == ["2"])
        #expect(try log("-uscore") == ["4"])
        #expect(
            try run(["log", "-Fop"]).lines == ["delete", "insert", "model", "touch", "update"])
        #expect(try run(["log", "-rn1", "-ocat"]).lines == ["delete Team/1"])
        #expect(try run(["log", "-rz1"]).code == 2)
        #expect(try run(["log", "-nx"]).output.contains("'x' is invalid"))
    }

    @Test func `-n alone means 10, and all prints every line`() throws {
        let long = try MadeJournal(transactions: 30, bytes: 8)
        func lines(_ words: String...) throws -> Int {
            let run = try CommandRun("tandem", words + ["-D", long.store])
            #expect(run.code == 0, "\(words) \(run.output)")
            return run.lines.count
        }
        #expect(try lines("log", "-n") == 10)
        #expect(try lines("log", "-n", "-r") == 10)
        #expect(try lines("log", "-qn", "author=often") == 10)
        #expect(try lines("log", "--lines") == 10)
        #expect(try lines("log", "--lines", "7") == 7)
        #expect(try lines("log", "-n", "all") == 31)
        #expect(try lines("log", "-nall", "-e") == 31)
        #expect(try lines("log", "--lines=all", "-r") == 31)
        #expect(try lines("history", "Team/1", "-ocat", "-n") == 1)
    }

    @Test func `a word after -n that is neither a number nor an argument is refused as its value`()
        throws
    {
        for words in [
            ["log", "-n", "abc"], ["log", "--lines", "abc", "author=x"], ["log", "-rn", "1x"],
            ["history", "-n", "abc", "Team/1"],
        ] {
            expect(try run(words), 2, "-n must be a non-negative number, or all")
        }
        for words in [
            ["log", "-n", "author=setup"], ["log", "-n", "show", "2"], ["history", "-n", "Team/1"],
        ] {
            expect(try run(words), 0)
        }
        expect(try run(["log", "-n", "+"]), 2, "+ must be between two matches")
    }

    @Test func `words that are not options are unchanged`() {
        let kept = [
            ["log", "--", "-n3"], ["fetch", "Team", "--sort", "-order,name"], ["log", "-S", "-1h"],
            ["log", "-n", "3"], ["log", "--lines=3"], ["-h"], [], ["log", "-x3"], ["log", "-"],
            ["watch", "Team", "--sort", "-h"], ["log", "-g", "a b"],
        ]
        for words in kept { #expect(ShortOptions.separated(words) == words) }
        #expect(ShortOptions.separated(["log", "-n", "--"]) == ["log", "-n=10", "--"])
        #expect(ShortOptions.separated(["log", "-rgop=x"]) == ["log", "-r", "-g=op=x"])
    }

    @Test func `the short options are those of the help`() throws {
        let dump = try CommandRun("tandem", ["--experimental-dump-help"])
        let root = try #require(try JSON(parsing: dump.output)["command"])
        var letters = 0
        func check(_ command: JSON, _ verb: String) {
            let known = ShortOptions(of: verb)
            for argument in command["arguments"]?.array ?? [] {
                for name in argument["names"]?.array ?? [] where name["kind"] == .string("short") {
                    let letter = Character(name["name"]?.string ?? "?")
                    let isFlag = argument["kind"] == .string("flag")
                    #expect(
                        (isFlag ? known.flags : known.valued).contains(letter), "\(verb) \(letter)")
                    letters += 1
                }
            }
            for inner in command["subcommands"]?.array ?? [] { check(inner, verb) }
        }
        for verb in root["subcommands"]?.array ?? [] {
            let name = verb["commandName"]?.string ?? ""
            check(verb, name)
            #expect(ShortOptions(of: name).flags.isDisjoint(with: ShortOptions(of: name).valued))
        }
        #expect(letters > 60)
    }

    @Test(arguments: [
        (["op=nope"], "no op `nope`; the ops are insert, update, delete, touch, model"),
        (["property=nope"], "property `nope`; the properties are born, name, players, team, wins"),
        (["author=setup", "+", "property=nope"], "property `nope`; the properties are born"),
        (["entity=nope"], "there is no entity `nope`; the entities are Player, Team"),
        (["-E", "nope"], "there is no entity `nope`; the entities are Player, Team"),
        (
            ["-p", "Team.born"],
            "Team has no property `born`; the properties are name, players, wins"
        ),
        (["object=nope"], "`nope` is not an object id; give ENTITY/NUMBER"),
        (["object=nope/1"], "there is no entity `nope`; the entities are Player, Team"),
        (["pid=x"], "`x` is not a pid; give a number"),
        (["57"], "`57` is a position; `tandem log show 57`"),
        (["nope"], "is not FIELD=VALUE"),
    ]) func `an unknown value is a usage error`(_ words: [String], _ says: String)
        throws
    {
        let found = try run(["log"] + words)
        #expect(
            found.code == 2 && found.lines.count == 1 && found.output.contains(says), "\(found)")
    }
}
