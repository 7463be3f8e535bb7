import Foundation
import Glibc
import Tandem
import TandemIO
import TestSupport
import Testing

/// `tandem export` and `import`: round trips, rejected rows with their lines, and resumed imports.
@Suite(.ownThread) struct TransferTests: StoreSuite {
    let place: Place

    init() throws { place = try .serving() }

    private static let model = """
        {"entities": {
            "Team": {"attributes": {"name": {"type": "string"}, "wins": {"type": "int"},
                    "founded": {"type": "date"}, "note": {"type": "string"}},
                "relationships": {"players": {"to": "Player", "toMany": true, "inverse": "team"}},
                "uniqueness": [["name"]]},
            "Player": {"attributes": {"name": {"type": "string"}},
                "relationships": {"team": {"to": "Team", "inverse": "players"}}}}}
        """

    private func rejects(_ path: String) throws -> [JSON] {
        try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n")
            .map { try JSON(parsing: String($0)) }
    }

    @MainActor private func seed() throws {
        try place.seed(Self.model) { context in
            let team = try context.insert("Team")
            team["name"] = .string("Senegal, \"lions\"\nof Teranga")
            team["wins"] = .int(2)
            team["founded"] = .date(1_000_000.5)
            let other = try context.insert("Team")
            other["name"] = .string("Qatar")
            other["note"] = .string("")
            for name in ["Mané", "Mendy"] {
                let player = try context.insert("Player")
                player["name"] = .string(name)
                player.setObject(team, for: "team")
            }
            try context.save()
        }
    }

    @Test
    func
        `a one-to-one link to an object of the store is set if that object is free, else rejected`()
        throws
    {
        let model = """
            {"entities": {
                "Team": {"attributes": {"name": {"type": "string"}},
                    "relationships": {"coach": {"to": "Coach", "inverse": "team"}},
                    "uniqueness": [["name"]]},
                "Coach": {"attributes": {"name": {"type": "string"}},
                    "relationships": {"team": {"to": "Team", "inverse": "coach"}}}}}
            """
        expect(try tandem("schema", "apply", try file("model.json", model)), 0)
        for name in ["Brazil", "Chile"] { expect(try tandem("insert", "Team", "name=\(name)"), 0) }
        expect(try tandem("insert", "Coach", "name=Tite", "team=name:Brazil"), 0)
        let rows = ["Brazil", "Chile"].enumerated().map { number, team in
            #"{"entity":"Coach","id":"Coach/\#(700 + number)","values":{"name":"of \#(team)","#
                + #""team":{"id":"Team/\#(900 + number)","key":{"name":"\#(team)"}}}}"#
        }
        let path = try file("coaches.ndjson", rows.joined(separator: "\n") + "\n")
        expect(try tandem("import", path), 1, "1 row was rejected")
        #expect(try tandem("count", "Coach", "--where", "team.name = \"Chile\"").output == "1\n")
        #expect(
            try tandem("fetch", "Coach", "--where", "team.name = \"Brazil\"").output
                .contains("Tite"))
        let rejected = try rejects(path + ".rejects")
        #expect(rejected.count == 1)
        #expect(rejected[0]["error"]?.string?.contains("is already linked to Coach/") == true)
    }

    @Test func `the imported file is refused as its own reject file`() throws {
        try place.install(Self.model)
        let path = try file("rows.ndjson", #"{"entity":"Team","values":{"name":"A"}}"# + "\n")
        let run = try tandem("import", path, "--rejects", path)
        expectLine(run, 2, "\(path) is the input and cannot be the reject file", "--rejects")
        expect(try tandem("import", path, "--rejects", place.path + "/model.json"), 2, "--rejects")
        #expect(try tandem("count", "Team").output == "0\n")
    }

    @Test @MainActor func `an export has the state of one position, in both formats`() throws {
        try seed()
        try Golden.expect(try tandem("export").output, "export.ndjson")
        try Golden.expect(try tandem("export", "Team", "-o", "csv").output, "export.team.csv")
        try Golden.expect(try tandem("export", "Player", "-o", "csv").output, "export.player.csv")
        #expect(try tandem("export", "Team", "--where", "wins > 1").lines.count == 1)
        #expect(try tandem("export", "--at", "1").output == "")
        expect(try tandem("export", "Teem"), 2, "no entity `Teem`")
        expect(try tandem("export", "-o", "csv"), 2, "needs exactly one entity")
        expect(try tandem("export", "Team", "--where", "wins >"), 2, "offset 6")
    }

    @Test(arguments: ["ndjson", "csv"]) @MainActor
    func `exported objects are the same after an import elsewhere`(format: String) throws {
        try seed()
        let out = try tandem("export", "Team", "-o", format).output
        let other = try Place.serving(Self.model)
        let at = ["--socket", other.socket]
        // The links refer to objects that the other store does not have.
        let path = try file("teams.\(format)", out.replacing("Player/3 Player/4", with: ""))
        let ids = #","players":["Player/3","Player/4"]"#
        try String(contentsOfFile: path, encoding: .utf8).replacing(ids, with: "")
            .write(toFile: path, atomically: true, encoding: .utf8)
        expect(
            try CommandRun("tandem", ["import", path, "--entity", "Team"] + at), 0,
            "imported 2 objects of Team")
        let fetch = ["fetch", "Team", "--sort", "name", "-o", "json"]
        let values = try CommandRun("tandem", fetch + at).json.map { $0["values"] }
        let before = try CommandRun("tandem", fetch + ["--socket", place.socket])
        #expect(before.json.map { $0["values"] } == values)
        #expect(values.count == 2)
    }

    @Test
    func `rejected rows are written to a file with their line numbers, and the rest is imported`()
        throws
    {
        try place.install(Self.model)
        let path = try file(
            "rows.ndjson",
            """
            {"name": "A", "wins": 1}
            {"name": "B"
            {"name": "C", "wins": "many"}

            {"entity": "Team", "values": {"name": "A", "wins": 2}}
            {"name": "D", "losses": 2}
            {"entity": "Nope", "values": {}}
            {"entity": "Player", "values": {"name": "P", "team": "Team/99"}}
            {"entity": "Player", "values": {"name": "Q"}}
            {"name": "E"}
            """)
        let run = try tandem("import", path, "--entity", "Team")
        expect(
            run, 1, "imported 1 object of Player", "imported 2 objects of Team",
            "6 rows were rejected; see \(path).rejects")
        let found = try rejects(path + ".rejects")
        let lines = found.sorted { ($0["line"]?.int ?? 0) < ($1["line"]?.int ?? 0) }
        #expect(lines.map { $0["line"]?.int } == [2, 3, 5, 6, 7, 8])
        #expect(
            lines.map { $0["by"]?.string }
                == ["reader", "reader", "daemon", "reader", "reader", "daemon"])
        #expect(lines[1]["error"]?.string == "wins: a value of type int is required, not \"many\"")
        #expect(lines[1]["row"]?.string == #"{"name": "C", "wins": "many"}"#)
        #expect(try tandem("count", "Team").output == "2\n")
        // Another import does not mix its rejects with these.
        expect(try tandem("import", path, "--entity", "Team"), 2, "rejects exists")
        expect(try tandem("import", path + "x"), 2, path + "x")
        expect(try tandem("import", path, "--entity", "Teem"), 2, "no entity `Teem`")
    }

    @Test func `a file without rejects of this import is unchanged`() throws {
        try place.install(Self.model)
        let rows = #"{"name": "A"}"#
        let path = try file("own.ndjson", rows)
        let more = ["--entity", "Team", "--id", "x", "--rejects", path]
        let run = try CommandRun("tandem", ["import", path] + more + ["--socket", place.socket])
        expect(run, 2, "cannot be the reject file")
        #expect(try String(contentsOfFile: path, encoding: .utf8) == rows)
        let bad = try file("bad.ndjson", "{\n")
        expect(try tandem("import", bad, "--entity", "Team", "--id", "x"), 1)
        expect(
            try tandem("import", bad, "--entity", "Team", "--id", "y"), 2, "belongs to the import x"
        )
        // A reject whose end is missing is rewritten.
        let kept = try String(contentsOfFile: bad + ".rejects", encoding: .utf8)
        for cut in [1, 9] {
            try String(kept.dropLast(cut)).write(
                toFile: bad + ".rejects", atomically: true, encoding: .utf8)
            expect(try tandem("import", bad, "--entity", "Team", "--id", "x"), 1)
            #expect(try String(contentsOfFile: bad + ".rejects", encoding: .utf8) == kept)
        }
    }

    @Test func `an import resumes with a rejected row of any length, whose reason is short`() throws
    {
        try place.install(Self.model)
        // Each byte of the first row takes six bytes in the reject file. In a deep run, the line is
        // longer than a line of any other file may be.
        let bytes = Volume.of(50_000, deep: 5_700_000)
        let long = String(repeating: "\u{1}", count: bytes)
        let many = String(repeating: "m", count: Volume.of(10_000, deep: 1 << 20))
        let path = try file(
            "long.ndjson", long + "\n{\"wins\": \"\(many)\"}\n{\"name\": \"A\"}\n")
        for _ in 0..<2 {
            expect(
                try tandem("import", path, "--entity", "Team", "--id", "x"), 1,
                "imported 1 object of Team", "2 rows were rejected")
        }
        let found = try String(contentsOfFile: path + ".rejects", encoding: .utf8)
            .split(separator: "\n")
        #expect(found.count == 2 && found[0].utf8.count > 6 * bytes)
        let second = try JSON(parsing: String(found[1]))
        #expect(second["row"]?.string?.utf8.count == many.utf8.count + 12)
        #expect(second["error"]?.string?.utf8.count ?? .max < 2_000)
        #expect(second["error"]?.string?.hasPrefix("wins: a value of type int") == true)
    }

    @Test func `a table may have a byte order mark, inch marks and other line endings`()
        throws
    {
        try place.install(Self.model)
        let text = "\u{FEFF}name,note\r\n5\" pipe,a\r\n6\" pipe,\"b\r\nc\"\r\n"
        expect(
            try tandem("import", try file("inch.csv", text), "--entity", "Team"), 0,
            "imported 2 objects")
        let rows = try tandem("fetch", "Team", "--sort", "name", "-o", "json").json
        #expect(rows.map { $0["values"]?["name"]?.string } == ["5\" pipe", "6\" pipe"])
        #expect(rows.map { $0["values"]?["note"]?.string } == ["a", "b\r\nc"])
    }

    @Test func `a table's cells have the types of the model, and quoted ones may be empty`() throws
    {
        try place.install(Self.model)
        let path = try file(
            "teams.csv",
            "name,wins,note,founded\r\nA,1,,2026-01-02T00:00:00Z\r\n\"B \"\"b\"\"\nb\",,\"\",1970-01-01 00:00:05\r\n"
                + "C,x,,\r\nD,1\r\n\"E,1,,\r\n")
        expect(try tandem("import", path, "--entity", "Team"), 1, "imported 2 objects", "3 rows")
        let rows = try tandem("fetch", "Team", "--sort", "name", "-o", "json").json
        #expect(rows.map { $0["values"]?["name"]?.string } == ["A", "B \"b\"\nb"])
        #expect(rows[0]["values"]?["note"] == .null && rows[1]["values"]?["note"] == .string(""))
        #expect(rows[1]["values"]?["founded"]?.number == 5)
        // The line of a record is the one in which it begins.
        #expect(try rejects(path + ".rejects").map { $0["line"]?.int } == [5, 6, 7])
        expect(
            try tandem("import", try file("a.csv", "name,name\nA,B\n"), "--entity", "Team"), 2,
            "two columns have the same name")
    }

    /// Cells that could be taken for another value of their column's type.
    private static let ambiguous = [
        ("founded", "20130131", "date"), ("founded", "5", "date"), ("founded", "1.5e9", "date"),
        ("founded", "null", "date"), ("wins", "9007199254740993.0", "int"),
        ("wins", "0x10", "int"), ("share", "0x10", "double"), ("share", "0x1p4", "double"),
        ("share", "inf", "double"), ("share", "nan", "double"), ("old", "null", "bool"),
        ("old", "maybe", "bool"), ("price", "0x10", "decimal"),
    ]

    @Test func `a cell that could be taken for another value is rejected with its line`() throws {
        let model = Self.model.replacing(
            #""note": {"type""#,
            with:
                #""share": {"type": "double"}, "old": {"type": "bool"}, "price": {"type": "decimal"}, "note": {"type""#
        )
        try place.install(model)
        let columns = ["founded", "wins", "share", "old", "price"]
        let cells = Self.ambiguous.map { name, cell, _ in
            columns.map { $0 == name ? cell : "" }.joined(separator: ",")
        }
        let fine = "2013-01-31,3.0,-Infinity,true, 1.50 "
        let lines = [columns.joined(separator: ","), fine] + cells
        let path = try file("cells.csv", lines.joined(separator: "\n") + "\n")
        expect(
            try tandem("import", path, "--entity", "Team"), 1, "imported 1 object of Team",
            "\(cells.count) rows were rejected")
        let found = try rejects(path + ".rejects")
        #expect(found.map { $0["line"]?.int } == cells.indices.map { Int64($0 + 3) })
        for ((name, cell, type), reject) in zip(Self.ambiguous, found) {
            let reason = reject["error"]?.string ?? ""
            #expect(
                reason.hasPrefix("\(name): a value of type \(type) is required, not \"\(cell)\""))
            #expect(reason.contains("write a date as 2013-01-31") == (type == "date"))
        }
    }

    @Test func `a number is a date only in an exported table`() throws {
        try place.install(Self.model)
        let numbers = Self.ambiguous.filter { $0.2 == "date" && Double($0.1) != nil }.map(\.1)
        // Exported tables have an id for each object; their dates are seconds.
        let copies = numbers.map { "Team/1,\($0)\n" }.joined()
        let copy = try file("copy.csv", "id,founded\n" + copies)
        expect(
            try tandem("import", copy, "--entity", "Team"), 0,
            "imported \(numbers.count) objects of Team")
        // A number in the `id` column is not the id of an object.
        let others = numbers.map { "12,\($0)\n" }.joined()
        let other = try file("other.csv", "id,founded\n" + others)
        expect(
            try tandem("import", other, "--entity", "Team"), 1,
            "\(numbers.count) rows were rejected")
    }

    @Test func `rows are read from standard input, from a pipe, and from a compressed file`() throws
    {
        try place.install(Self.model)
        let command = "'\(DaemonProcess.products)/tandem' import"
        let options = "--entity Team --socket '\(place.socket)'"
        func run(_ script: String) throws -> CommandRun {
            try CommandRun(path: "/bin/sh", ["-c", "cd '\(place.path)' && \(script)"])
        }
        expect(
            try run("printf '{\"name\": \"A\"}\\n' | \(command) - \(options)"), 0,
            "imported 1 object of Team")
        expect(
            try run("printf 'name\\nB\\nB\\n' | \(command) - --input csv \(options)"), 1,
            "1 row was rejected; see import.rejects")
        #expect(try rejects(place.path + "/import.rejects").map { $0["line"] } == [.int(3)])
        expect(
            try run(
                "mkfifo p.csv && { printf 'name\\nC\\n' > p.csv & } ; \(command) p.csv \(options)"),
            0, "imported 1 object of Team")
        expect(
            try run("printf 'name\\nD\\n' | gzip > d.csv.gz && \(command) d.csv.gz \(options)"), 0,
            "imported 1 object of Team")
        // The files of an import from a process substitution are in the current directory.
        expect(
            try CommandRun(
                path: "/bin/bash",
                [
                    "-c",
                    "cd '\(place.path)' && rm import.rejects && \(command) <(printf 'name\\nE\\nE\\n') "
                        + "--input csv \(options)",
                ]), 1, "1 row was rejected; see import.rejects")
        #expect(try tandem("count", "Team").output == "5\n")
    }

    @Test func `a file that names no entity, or has a column of no property, is not imported`()
        throws
    {
        try place.install(Self.model)
        let rows = try file("rows.ndjson", "{\"name\": \"A\"}\n")
        expect(try tandem("import", rows), 2, "line 1 of \(rows) names no entity; give --entity")
        let table = try file("rows.csv", "name,win\nA,1\n")
        expect(
            try tandem("import", table, "--entity", "Team"), 2, "Team has no property `win`",
            "rename or remove the column in \(table)")
        // Columns of an export are no properties.
        let exported = try file("exported.csv", "id,entity,name\nTeam/7,Team,A\n")
        expect(try tandem("import", exported, "--entity", "Team"), 0, "imported 1 object of Team")
        let left = try FileManager.default.contentsOfDirectory(atPath: place.path)
        #expect(!left.contains { $0.hasSuffix(".rejects") || $0.hasSuffix(".ids") }, "\(left)")
    }

    @Test func `two imports at once do not share a reject file`() throws {
        try place.install(Self.model)
        let path = place.path + "/rows.ndjson"
        // The first import opens the reject file before its rows, and waits there for a writer.
        #expect(mkfifo(path, 0o600) == 0)
        let options = [
            "import", path, "--entity", "Team", "--id", "mine", "--socket", place.socket,
        ]
        let child = try ChildProcess.start(
            DaemonProcess.products + "/tandem", options, output: .null)
        defer { child.kill() }
        while try !holdsLock(child), child.status == nil {}
        expect(
            try CommandRun("tandem", options), 1,
            "another import is writing to \(path).rejects; wait until it has ended")
        expect(try tandem("import", path, "--entity", "Team"), 1, "another import is writing")
        #expect(child.status == nil)
        child.kill()
        child.wait()
        try RealFileSystem().remove(path)
        try file("rows.ndjson", "{\"name\": \"A\"}\n")
        expect(try CommandRun("tandem", options), 0, "imported 1 object of Team")
    }

    /// Returns whether a process holds a lock on a file.
    private func holdsLock(_ process: ChildProcess) throws -> Bool {
        try String(contentsOfFile: "/proc/locks", encoding: .utf8).split(separator: "\n").contains {
            let words = $0.split(separator: " ")
            return words.contains("FLOCK") && words.contains("\(process.processID)")
        }
    }

    @Test func `an import without rejects leaves no new file`() throws {
        try place.install(Self.model)
        let path = try file("rows.ndjson", "{\"name\": \"A\"}\n")
        for _ in 0..<2 {
            expect(
                try tandem("import", path, "--entity", "Team", "--id", "mine"), 0,
                "imported 1 object of Team")
            #expect(!FileManager.default.fileExists(atPath: path + ".rejects"))
        }
        try file("rows.ndjson.rejects", "")
        expect(try tandem("import", path, "--entity", "Team", "--id", "mine"), 0)
        #expect(FileManager.default.fileExists(atPath: path + ".rejects"))
    }

    @Test(.enabled(if: KilledSaverTests.isInstalled, "strace is not installed or may not trace"))
    func `an import on a file system without locks warns and continues`() throws {
        try place.install(Self.model)
        func unlocked(_ arguments: String...) throws -> CommandRun {
            let words = [
                "-f", "-qq", "-o", "/dev/null", "-e", "trace=flock", "-e",
                "inject=flock:error=EOPNOTSUPP", DaemonProcess.products + "/tandem",
            ]
            return try CommandRun(
                path: "/usr/bin/strace", words + arguments + ["--socket", place.socket])
        }
        let remark = "make sure that no other import uses this reject file"
        let fine = try file("fine.ndjson", "{\"name\": \"A\"}\n")
        expect(try unlocked("import", fine, "--entity", "Team"), 0, remark, "imported 1 object")
        #expect(!FileManager.default.fileExists(atPath: fine + ".rejects"))
        for name in ["new", "begun"] {
            let path = try file("\(name).ndjson", "{\"name\": \"\(name)\"}\n{\n")
            if name == "begun" { try file("begun.ndjson.rejects", "") }
            let run = try unlocked("import", path, "--entity", "Team", "--id", name)
            expect(run, 1, remark, "cannot lock \(path).rejects", "1 row was rejected")
            #expect(try rejects(path + ".rejects").map { $0["line"]?.int } == [2])
            expect(try unlocked("import", path, "--entity", "Team"), 2, "rejects exists")
            let again = try unlocked("import", path, "--entity", "Team", "--id", name)
            expect(again, 1, "imported 1 object", "1 row was rejected")
        }
        #expect(try tandem("count", "Team").output == "3\n")
    }

    @Test(.enabled(if: KilledSaverTests.isInstalled, "strace is not installed or may not trace"))
    func
        `law 3: an import whose list of ids can't be read reports it and leaves the list unchanged`()
        throws
    {
        try place.install(Self.model)
        let path = try file(
            "rows.ndjson",
            """
            {"entity": "Team", "id": "Team/1", "values": {"name": "A"}}
            {"entity": "Player", "id": "Player/2", "values": {"name": "B", "team": "Team/1"}}
            """)
        let list = try file("rows.ndjson.rejects.ids", "import mine\nTeam/1 7\nPlayer/2 8\n")
        let words = ["import", path, "--id", "mine", "--socket", place.socket]
        let reads = try FailingReads(path: list).run(words) { run in
            expect(run, 1, list, "EIO")
            let kept = try String(contentsOfFile: list, encoding: .utf8)
            #expect(kept == "import mine\nTeam/1 7\nPlayer/2 8\n")
        }
        #expect(reads > 1)
    }

    @Test(arguments: ["/dev/null", "/"])
    func `a reject file that stores nothing is refused before anything is imported`(
        rejects: String
    ) throws {
        try place.install(Self.model)
        let path = try file("rows.ndjson", "{\"name\": \"A\"}\n")
        expect(
            try tandem("import", path, "--entity", "Team", "--rejects", rejects), 2,
            "\(rejects) is not a regular file; name another file with --rejects")
        #expect(try tandem("count", "Team").output == "0\n")
    }

    @Test func `an import killed before its first reject leaves no file in the way`() throws {
        try place.install(Self.model)
        let path = try file("rows.ndjson", "{\"name\": \"A\"}\n{\n")
        try file("rows.ndjson.rejects", "")
        expect(try tandem("import", path, "--entity", "Team"), 1, "imported 1 object of Team")
        #expect(try rejects(path + ".rejects").map { $0["line"]?.int } == [2])
    }

    @Test func `law 3: a killed import resumes under its id, and no row is imported twice`()
        throws
    {
        try place.install(Self.model)
        let count = Volume.of(6_000, deep: 30_000)
        var names = (0..<count).map { "team \($0)" }
        // The daemon refuses these two rows, one before the kill, one after it.
        names[700] = "team 3"
        names[count - 700] = "team 4"
        let path = try file(
            "many.ndjson", names.map { "{\"name\": \"\($0)\", \"wins\": 1}\n" }.joined())
        let options = [
            "import", path, "--entity", "Team", "--id", "mine", "--socket", place.socket,
        ]
        let killed = try KilledImport(
            [path, "--entity", "Team", "--id", "mine"],
            relay: try RefusingRelay(place.path + "/relay", to: place.socket), before: 6,
            isForwarded: false
        ) { if case .insert = $0 { true } else { false } }
        #expect(killed.isKilled)
        let before = try #require(Int(try tandem("count", "Team").lines.first ?? ""))
        #expect((701..<count - 700).contains(before), "\(before)")
        let run = try CommandRun("tandem", options)
        expect(run, 1, "imported \(count - 2) objects of Team", "2 rows were rejected")
        #expect(try tandem("count", "Team").output == "\(count - 2)\n")
        #expect(
            try rejects(path + ".rejects").map { $0["line"]?.int } == [701, Int64(count - 699)])
        // Another run finds that all rows were imported.
        expect(try CommandRun("tandem", options), 1, "imported \(count - 2) objects of Team")
        #expect(try tandem("count", "Team").output == "\(count - 2)\n")
    }
}
