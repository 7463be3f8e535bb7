import Foundation
import Tandem
import TandemIO
import TestSupport
import Testing

/// `tandem` and `tandemd` as run from a shell: their output and exit codes.
@Suite(.ownThread) struct CommandTests: StoreSuite {
    let place: Place
    let daemon: DaemonProcess

    init() throws {
        place = try Place()
        daemon = try place.serve()
    }

    private static let model = """
        {"entities": {"Team": {"attributes": {"name": {"type": "string"}, "wins": {"type": "int"}}}}}
        """

    @MainActor private func seed() throws -> Position {
        try place.seed(Self.model) { context in
            let team = try context.insert("Team")
            team["name"] = .string("Qatar")
            team["wins"] = .int(0)
            try context.save()
            team["wins"] = .int(1)
            return try context.save()
        }
    }

    @Test @MainActor func `log prints every transaction, oldest first`() throws {
        _ = try seed()
        let run = try tandem("log")
        #expect(run.code == 0)
        #expect(run.lines.count == 3)
        #expect(run.lines.first?.contains(" 1 seeder[") ?? false)
        #expect(run.lines.first?.contains("install model") ?? false)
        #expect(run.lines.last?.hasSuffix("update Team/1 wins 0→1") ?? false)
        #expect(try tandem("log", "-n", "1").lines == Array(run.lines.suffix(1)))
        #expect(try tandem("log", "-r").lines == run.lines.reversed())
        #expect(try tandem("log", "-t", "nobody").output == "-- No entries --\n")
        #expect(try tandem("log", "--from", "2", "--to", "2").lines == [run.lines[1]])
        let offline = try CommandRun("tandem", ["log", "-D", place.store])
        #expect(offline.lines == run.lines)
    }

    @Test @MainActor func `consumers are listed, registered, acknowledged and removed`() throws {
        let end = try seed()
        #expect(try tandem("consumers").lines.count == 1)
        let first = try tandem("consumers", "register", "mirror", "--at", "1")
        #expect(first.output.hasPrefix("1@"))
        // Registering the consumer again keeps its position.
        #expect(try tandem("consumers", "register", "mirror").output.hasPrefix("1@"))
        let moved = try tandem("consumers", "acknowledge", "mirror", "--at", end.description)
        #expect(moved.lines == [end.description])
        let line = try #require(try tandem("consumers").lines.last)
        let uid = ThisProcess.effectiveUserID
        #expect(
            line.split(separator: " ").map(String.init)
                == ["\(end.number)", "0", "false", "\(uid)", "mirror"])
        let shown = try tandem("consumers", "-o", "json").json
        #expect(shown.map { $0["acknowledged"]?.int } == [Int64(end.number)])
        expectLine(
            try tandem("consumers", "acknowledge", "mirror", "--at", "99"), 1, "does not exist yet")
        expectLine(try tandem("consumers", "acknowledge", "nobody"), 1, "see `tandem consumers`")
        expectLine(
            try tandem("consumers", "acknowledge", "nobody", "--at", "x"), 2, "not a position")
        expectLine(try tandem("consumers", "remove", "mirror"), 1, "nothing was changed")
        #expect(try tandem("consumers", "remove", "mirror", "--yes").code == 0)
        expectLine(try tandem("consumers", "remove", "mirror", "--yes"), 1, "no consumer mirror")
    }

    @Test @MainActor func `a consumer is shown, and reset after confirmation`() throws {
        let end = try seed()
        _ = try tandem("consumers", "register", "mirror", "--at", "1")
        let info = try tandem("consumers", "info", "mirror")
        #expect(info.lines.contains("Acknowledged 1 of 3"), "\(info.output)")
        #expect(info.lines.contains("Needs        2 transactions from 2 on"))
        let json = try #require(try tandem("consumers", "info", "mirror", "-o", "json").json.first)
        #expect(json["lag"]?.int == 2 && (json["next"]?.number ?? 0) > 1_700_000_000)
        expectLine(try tandem("consumers", "info", "nobody"), 1, "no consumer nobody")
        expectLine(
            try tandem("consumers", "reset", "mirror", "--to", "3"), 1,
            "move mirror from 1 to 3: it will skip 2 transactions?", "nothing was changed")
        let reset = try tandem("consumers", "reset", "mirror", "--yes")
        #expect(reset.lines == [end.description])
        expectLine(
            try tandem("consumers", "reset", "mirror", "--to", "2"), 1,
            "it will read 1 transaction again?")
        let back = try tandem("consumers", "reset", "mirror", "--to", "2", "--yes")
        #expect(back.lines == [end.at(2).description])
        expectLine(
            try tandem("consumers", "reset", "mirror", "--to", "9", "--yes"), 1,
            "does not exist yet")
        expectLine(try tandem("consumers", "reset", "nobody", "--yes"), 1, "no consumer nobody")
    }

    @Test @MainActor func `subscriptions list each client and its entities`() throws {
        let end = try seed()
        #expect(try tandem("subscriptions").lines.count == 1)
        let container = PersistentContainer(socket: place.socket, author: "follower")
        defer { container.close() }
        let context = container.makeContext(name: "main")
        _ = try context.fetch(FetchRequest(entity: "Team"))
        let line = try #require(try tandem("subscriptions").lines.last)
        let cells = line.split(separator: " ").map(String.init)
        #expect(
            Array(cells.dropFirst()) == [
                "\(ThisProcess.processID)", "\(ThisProcess.effectiveUserID)", "follower",
                "\(end.number)", "0", "Team",
            ], "\(line)")
        let json = try tandem("subscriptions", "-E", "Team", "-o", "json").json
        #expect(json.map { $0["entities"] } == [.array([.string("Team")])])
        expectLine(try tandem("subscriptions", "-E", "Teem"), 2, "no entity `Teem`")
    }

    @Test func `config shows the effective settings and their origins`() throws {
        let changed = try tandem("config", "--changed")
        #expect(
            changed.lines == [
                "store = \(place.store)  # --store", "socket.path = \(place.socket)  # --socket",
                "journal.segmentBytes = 1 MiB  # --segment-mebibytes",
            ])
        let all = try tandem("config", "-o", "json").json
        #expect(all.count > 20 && all.allSatisfy { $0["origin"]?.string != nil })
        #expect(
            try tandem("config", "journal.keepB").lines == ["journal.keepBytes = 1 GiB  # default"])
        expectLine(try tandem("config", "nope"), 2, "no key begins with `nope`")
        let good = try file("good.yaml", "limits:\n  connections: 7\n")
        #expect(
            try tandem("config", "limits.connections", "--file", good, "--changed").lines == [
                "limits.connections = 7  # \(good):2"
            ])
        let bad = try tandem("config", "--file", try file("bad.yaml", "limits:\n  conections: 7\n"))
        #expect(bad.code == 2 && bad.output.contains("did you mean limits.connections?"))
        #expect(bad.output.contains("a daemon cannot start with"))
    }

    @Test @MainActor func `log as JSON has one object a line with before and after`() throws {
        let position = try seed()
        let run = try tandem("log", "-o", "json")
        #expect(run.json.map { $0["position"]?.int } == [1, 2, 3])
        let last = try #require(run.json.last)
        #expect(last["cursor"]?.string == position.description)
        #expect(last["author"]?.string == "seeder" && last["context"]?.string == "seeds")
        #expect(last["uid"]?.int == Int64(ThisProcess.effectiveUserID))
        let change = try #require(last["changes"]?.array?.first)
        #expect(change["type"]?.string == "update" && change["object"]?.string == "Team/1")
        #expect(change["changed"] == .array([.string("wins")]))
        #expect(change["before"] == .object(["wins": .int(0)]))
        #expect(change["after"]?["wins"] == .int(1))
    }

    @Test @MainActor func `log -f prints new transactions as they arrive`() throws {
        let first = try seed()
        let follower = try ChildProcess.start(
            DaemonProcess.products + "/tandem",
            ["log", "-f", "-n", "1", "-o", "json", "--socket", place.socket], output: .pipe)
        var reader = LineReader(try #require(follower.output))
        let past = try JSON(parsing: reader.next() ?? "")
        #expect(past["position"]?.int == Int64(first.number))
        let container = PersistentContainer(socket: place.socket, author: "later")
        let context = container.makeContext(name: "main")
        _ = try context.insert("Team")
        let second = try context.save()
        let line = try JSON(parsing: reader.next() ?? "")
        #expect(line["position"]?.int == Int64(second.number) && line["author"]?.string == "later")
        follower.kill()
        follower.wait()
    }

    @Test @MainActor func `fetch, count, schema, status, clients and wait print their results`()
        throws
    {
        let position = try seed()
        #expect(try tandem("fetch", "Team").output.contains("name=Qatar wins=1"))
        let fetched = try tandem("fetch", "Team", "--where", "wins > 0", "-o", "json").json
        #expect(fetched.first?["values"]?["name"]?.string == "Qatar")
        #expect(try tandem("count", "Team").output == "1\n")
        let schema = try ManagedObjectModel(parsing: try tandem("schema").output)
        let declared = try ManagedObjectModel(parsing: Self.model)
        #expect(schema == declared)
        let status = try #require(try tandem("status", "-o", "json").json.first)
        #expect(status["position"]?.int == 3 && status["store"]?.string == place.store)
        #expect(try tandem("status").output.contains(position.description))
        let container = PersistentContainer(socket: place.socket, author: "follower")
        defer { container.close() }
        _ = try container.makeContext(name: "main").fetch(FetchRequest(entity: "Team"))
        let clients = try tandem("clients")
        #expect(clients.code == 0)
        let rows = clients.lines.map { $0.split(separator: " ").map(String.init) }
        #expect(
            rows.contains {
                $0.contains("follower") && $0.dropFirst().first == "\(ThisProcess.processID)"
            }, "\(clients.output)")
        #expect(try tandem("wait", "3").output == "\(position)\n")
    }

    @Test @MainActor func `fetch quotes texts that could be taken for more than one field`() throws
    {
        _ = try seed()
        expect(try tandem("insert", "Team", "name=North, Central America", "wins=3"), 0)
        expect(try tandem("insert", "Team", "name=\"\""), 0)
        let output = try tandem("fetch", "Team", "--sort", "name").output
        let fields = output.split(separator: "\n").map { $0.drop { $0 != " " }.drop { $0 == " " } }
        #expect(
            fields == [
                #"name="" wins=null"#, #"name="North, Central America" wins=3"#,
                "name=Qatar wins=1",
            ], "\(output)")
    }

    @Test func `invalid input prints one line with a remedy, and has its own exit code`() throws {
        let model = try file("model.json", Self.model)
        #expect(try tandem("schema", "apply", model).code == 0)
        expectLine(try tandem("schema", "apply", try file("a.json", "{")), 2, "not JSON")
        let typo = try file("b.json", #"{"entities": {"A": {"atributes": {}}}}"#)
        expectLine(try tandem("schema", "apply", typo), 2, "atributes", "the keys are")
        let inverse = try file(
            "c.json", #"{"entities": {"A": {"relationships": {"b": {"to": "A", "inverse": "x"}}}}}"#
        )
        expectLine(try tandem("schema", "apply", inverse), 2, "A.b", "declare it")
        expectLine(try tandem("schema", "apply", place.path + "/none"), 2, "none")
        expectLine(try tandem("fetch", "Nope"), 2, "Nope")
        expectLine(try tandem("fetch", "Team", "--where", "wins >"), 2, "offset 6")
        expectLine(try tandem("fetch", "Team", "--sort", "nope"), 2, "nope")
        expectLine(try tandem("wait", "x"), 2, "not a position")
        expectLine(try tandem("wait", "9", "--timeout", "0"), 1, "was not reached in time")
        for words in [
            ["fetch", "Team", "--at", "99"], ["count", "Team", "--at", "99"],
            ["show", "Team/1", "--at", "99"], ["explain", "Team", "--at", "99"],
            ["export", "Team", "--at", "99"], ["revert", "99"],
            ["consumers", "register", "mirror", "--at", "99"],
        ] {
            expectLine(
                try CommandRun("tandem", words + ["--socket", place.socket]), 1,
                "position 99 does not exist yet")
        }
        expectLine(try tandem("import", place.path + "/none"), 2, "none")
        expectLine(try tandem("import", place.path, "--map", place.path + "/none"), 2, "none")
        #expect(try CommandRun("tandem", ["nope"]).code == 2)
        #expect(try CommandRun("tandem", ["--help"]).code == 0)
        let missing = try CommandRun("tandem", ["status", "--socket", place.path + "/none"])
        expectLine(missing, 3, "no daemon listens on", "tandemd --store DIR --socket")
    }

    @Test
    func `law 7: a truncated frame ends its connection with a reason, and the daemon continues`()
        throws
    {
        let socket = try Socket.connect(path: place.socket)
        try socket.writeAll([1, 2, 3])
        socket.shutdown()
        let log = daemon.readOutput { $0.contains("in the middle of a frame") }
        #expect(log.contains("in the middle of a frame"), "\(log)")
        #expect(try tandem("status").code == 0)
    }

    @Test func `a store or socket that another daemon holds is refused`() throws {
        let other = place.path + "/other"
        let sameStore = try CommandRun("tandemd", ["--store", place.store, "--socket", other])
        expectLine(sameStore, 1, "held by process", "stop the other daemon")
        let sameSocket = try CommandRun("tandemd", ["--store", other, "--socket", place.socket])
        expectLine(sameSocket, 1, "held by process")
        #expect(try tandem("status").code == 0)
    }

    @Test @MainActor func `a damaged journal is shown up to the gap, which is reported`() throws {
        _ = try seed()
        daemon.end(SIGTERM)
        let path = place.store + "/journal/0000000000000001.journal"
        let handle = try #require(FileHandle(forUpdatingAtPath: path))
        let bytes = try #require(try handle.read(upToCount: 1 << 16))
        let text = try #require(bytes.range(of: Data("seeder".utf8)))
        try handle.seek(toOffset: UInt64(text.lowerBound))
        try handle.write(contentsOf: Data("SEEDER".utf8))
        try handle.close()
        let run = try CommandRun("tandem", ["log", "-D", place.store])
        #expect(run.code == 1)
        #expect(run.output.contains("gap: \(path) at offset"))
        #expect(run.output.contains(" 3 seeder["))
    }
}

/// Reads lines from a descriptor as they arrive.
struct LineReader {
    private let descriptor: Int32
    private var bytes: [UInt8] = []

    init(_ descriptor: Int32) { self.descriptor = descriptor }

    /// Returns the next line, or nil at the end.
    mutating func next() -> String? {
        while true {
            if let end = bytes.firstIndex(of: UInt8(ascii: "\n")) {
                defer { bytes.removeSubrange(...end) }
                return String(decoding: bytes[..<end], as: UTF8.self)
            }
            let more = FileHandle(fileDescriptor: descriptor, closeOnDealloc: false).availableData
            if more.isEmpty { return nil }
            bytes += more
        }
    }
}
