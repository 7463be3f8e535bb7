import Glibc
import Tandem
import TandemIO
import Testing

/// `tandem log --stats` over a journal whose every byte is known.
@Suite(.ownThread) struct StatisticsTests {
    let journal: MadeJournal

    init() throws { journal = try MadeJournal() }

    private func log(_ arguments: String...) throws -> CommandRun {
        try CommandRun(
            path: "/usr/bin/env",
            ["TZ=\(MadeJournal.zone)", DaemonProcess.products + "/tandem", "log"] + arguments
                + ["-D", journal.store])
    }

    @Test(arguments: ["entity", "author", "property", "size"])
    func `each table equals its golden file`(_ by: String) throws {
        let run = try log("--stats=\(by)")
        #expect(run.code == 0)
        #expect(run.lines.allSatisfy { $0.count <= 80 })
        try Golden.expect(run.output, "stats.\(by)")
    }

    @Test func `JSON has the values of the table under fixed names`() throws {
        try Golden.expect(try log("--stats=size", "-o", "json").output, "stats.size.json")
        try Golden.expect(
            try log("--stats", "-o", "json-pretty", "-E", "Team").output, "stats.json-pretty")
    }

    @Test func `the rows agree with the log for every filter`() throws {
        for filter in [[], ["-E", "Player"], ["op=update"], ["-n", "2"], ["-t", "setup"]] {
            let run = try CommandRun(
                "tandem", ["log", "-o", "json", "-D", journal.store] + filter)
            var wanted: [String: Int] = [:]
            for change in run.json.flatMap({ $0["changes"]?.array ?? [] }) {
                let id = try #require(change["object"]?.string)
                wanted[String(id.prefix { $0 != "/" }), default: 0] += 1
            }
            let stats = try CommandRun(
                "tandem", ["log", "--stats", "-o", "json", "-D", journal.store] + filter)
            let json = try #require(stats.json.first)
            var found: [String: Int] = [:]
            for row in json["rows"]?.array ?? [] {
                found[row["entity"]?.string ?? ""] = row["changes"]?.int.map { Int($0) }
            }
            #expect(found == wanted, "\(filter)")
            #expect(json["transactions"]?.int == Int64(run.json.count), "\(filter)")
        }
    }

    @Test func `a word after --stats is the grouping, unless it is a match`() throws {
        #expect(try log("--stats", "author").output == log("--stats=author").output)
        #expect(
            try log("--stats=author", "-E", "Team").output
                == log("-E", "Team", "--stats", "author").output)
        #expect(
            try log("--stats", "author=setup").output == log("--stats=entity", "-t", "setup").output
        )
        #expect(try log("--stats", "-t", "nobody").output == "-- No entries --\n")
    }

    @Test func `unknown and contradictory options are usage errors`() throws {
        for wrong in [
            ["--stats=nope"], ["--stats", "nope"], ["--stats=nope", "-E", "Team"],
            ["--stats", "--plot"], ["--stats", "-o", "csv"], ["--stats", "-F", "author"],
            ["--stats", "-o", "json", "--output-fields", "author"], ["--plot", "x.png"],
            ["--plot", "/dev/null"], ["--plot", "-o", "json"], ["--plot", "--fields"],
        ] {
            let run = try CommandRun("tandem", ["log", "-D", journal.store] + wrong)
            #expect(run.code == 2 && run.lines.count == 1, "\(wrong): \(run.output)")
        }
        let follow = try CommandRun("tandem", ["log", "--stats", "-f"])
        #expect(follow.code == 2 && follow.output.contains("--follow"))
    }

    @Test func `a daemon and its directory give the same counts`() throws {
        let journal = try MadeJournal(transactions: 2_500, bytes: 20)
        try CommandRun("tandem", ["rebuild", "-D", journal.store]).check()
        let socket = journal.place.socket
        let wanted = try ["entity", "author", "property", "size"].map {
            try CommandRun(
                "tandem", ["log", "--stats=\($0)", "-E", "Team", "-o", "json", "-D", journal.store]
            ).output
        }
        #expect(wanted[1].contains(#""author":"rare""#) && wanted[0].contains(#""inserts":2500"#))
        let daemon = try DaemonProcess.serving(store: journal.store, socket: socket)
        defer { daemon.end(SIGTERM) }
        let found = try ["entity", "author", "property", "size"].map {
            try CommandRun(
                "tandem",
                ["log", "--stats=\($0)", "-E", "Team", "-o", "json", "--socket", socket]
            ).output
        }
        #expect(found == wanted)
    }
}
