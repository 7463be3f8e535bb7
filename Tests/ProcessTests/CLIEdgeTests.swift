import Foundation
import Tandem
import TandemIO
import Testing

/// Edge cases of `tandem`: migrated stores, numbers out of range, directories without a store.
@Suite(.ownThread) struct CLIEdgeTests: StoreSuite {
    let place: Place

    init() throws { place = try Place() }

    private static func text(_ attributes: String) -> String {
        #"{"entities": {"Team": {"attributes": {\#(attributes)}}}}"#
    }

    private static func model(_ attributes: String) throws -> ManagedObjectModel {
        try ManagedObjectModel(parsing: text(attributes))
    }

    /// Saves with one model, then installs a model that moves every slot, and saves again.
    @MainActor private func migrate() throws -> (old: ManagedObjectModel, new: ManagedObjectModel) {
        let old = #""name": {"type": "string"}, "wins": {"type": "int"}"#
        let new = #""a": {"type": "string"}, "b": {"type": "double"}, "#
        let models = (try Self.model(old), try Self.model(new + old))
        for (model, wins) in [(models.0, 1), (models.1, 3)] {
            let container = PersistentContainer(socket: place.socket, author: "seeder")
            defer { container.close() }
            try container.install(model)
            let context = container.makeContext(name: "main")
            let team = try context.insert("Team")
            team["name"] = .string("Q")
            team["wins"] = .int(Int64(wins))
            try context.save()
            team["wins"] = .int(Int64(wins + 1))
            try context.save()
        }
        return models
    }

    @Test @MainActor func `log reads each transaction with the model of its time`() throws {
        try place.serve()
        let models = try migrate()
        let run = try tandem("log")
        #expect(run.code == 0, "\(run.output)")
        try #require(run.lines.count == 6, "\(run.output)")
        #expect(run.lines[0].hasSuffix("install model \(models.old.hash)"))
        #expect(run.lines[2].hasSuffix("wins 1→2"))
        #expect(run.lines[3].contains("install model \(models.new.hash): "))
        #expect(run.lines[5].hasSuffix("wins 3→4"))
        #expect(try tandem("log", "--from", "3", "--to", "3").lines == [run.lines[2]])
        #expect(try tandem("log", "-n", "1").lines == [run.lines[5]])
        let json = try tandem("log", "-o", "json").json
        #expect(json[2]["changes"]?.array?.first?["after"]?["wins"] == .int(2))
        #expect(json[0]["model"]?.string == models.old.hash.description)
        #expect(try CommandRun("tandem", ["log", "-D", place.store]).lines == run.lines)
    }

    @Test @MainActor func `log -D prints no cursor, because it does not know the log`() throws {
        try place.serve()
        _ = try migrate()
        let run = try CommandRun("tandem", ["log", "-D", place.store, "-o", "json"])
        #expect(run.json.map { $0["position"]?.int } == [1, 2, 3, 4, 5, 6])
        #expect(run.json.allSatisfy { $0["cursor"] == nil })
        let verbose = try CommandRun("tandem", ["log", "-D", place.store, "-o", "verbose"])
        #expect(verbose.lines.first?.hasSuffix("  1") ?? false, "\(verbose.output)")
    }

    @Test func `log -D reports a missing journal`() throws {
        let empty = place.path + "/empty"
        try FileManager.default.createDirectory(
            atPath: empty, withIntermediateDirectories: true)
        expectLine(try CommandRun("tandem", ["log", "-D", empty]), 1, "there is no journal in")
        expectLine(try CommandRun("tandem", ["log", "-D", empty + "/none"]), 1, "-D takes")
    }

    @Test func `numbers out of range are refused before a request is sent`() throws {
        expectLine(try tandem("fetch", "Team", "--limit=-1"), 2, "--limit must not be negative")
        expectLine(try tandem("count", "Team", "--offset=-1"), 2, "--offset must not be negative")
        expectLine(try tandem("wait", "1", "--timeout=-1"), 2, "--timeout")
        expectLine(try tandem("wait", "1", "--timeout=nan"), 2, "--timeout")
        for words in [["-n=-5"], ["-n", "-5"], ["-n-5"]] {
            let run = try CommandRun("tandem", ["log"] + words)
            expectLine(run, 2, "-n must be a non-negative number")
        }
        expectLine(
            try tandem("history", "Team/1", "-n", "-5"), 2, "-n must be a non-negative number")
    }

    @Test func `watch ends when the list's order is no longer in the model`() throws {
        try place.serve()
        let name = #""name": {"type": "string"}"#
        let first = try file("first.json", Self.text(name + #", "wins": {"type": "int"}"#))
        #expect(try tandem("schema", "apply", first).code == 0)
        expect(try tandem("schema", "apply", first), 0, "the store already has this model")
        let second = try file("second.json", Self.text(name))
        let watch = "'\(DaemonProcess.products)/tandem' watch Team --sort wins"
        let migrate = "'\(DaemonProcess.products)/tandem' schema migrate '\(second)' --yes"
        let run = try CommandRun(
            path: "/bin/sh",
            [
                "-c",
                "export TANDEM_SOCKET='\(place.socket)'; \(watch) | { read -r shown; \(migrate); cat; }",
            ])
        #expect(run.output.contains("the list can no longer be updated"), "\(run.output)")
    }

    @Test func `the example's table reports that a migration made its model incompatible`() throws {
        try place.serve()
        let products = DaemonProcess.products
        let played = try CommandRun("worldcup", ["play", "--quiet", "--socket", place.socket])
        #expect(played.code == 0, "\(played.output)")
        var model = try ManagedObjectModel(parsing: try tandem("schema").output)
        model.entities["Team"]?.attributes["imageName"] = nil
        let path = try file("next.json", model.json.text)
        let migrate = "'\(products)/tandem' schema migrate '\(path)' --yes"
        let run = try CommandRun(
            path: "/bin/sh",
            [
                "-c",
                "export TANDEM_SOCKET='\(place.socket)'; { '\(products)/worldcup' table 2>&1; echo \"code $?\"; } "
                    + "| { read -r shown; \(migrate); cat; }",
            ])
        #expect(run.output.contains("worldcup: the store has a newer model"), "\(run.output)")
        #expect(run.lines.last == "code 1", "\(run.output)")
    }

    @Test
    func `verbs that create no object lease no numbers, and one that creates an object leases few`()
        throws
    {
        try place.serve()
        func insert() throws -> UInt64 {
            let bridge = try BridgeProcess(place.socket)
            let saved = try bridge.ask(
                #"{"do": "save", "ops": [{"insert": "Tag", "as": "t", "set": {"name": "a"}}]}"#)
            #expect(try bridge.finish() == .exited(0))
            return saved["objects"]?["t"]?.string.flatMap { ObjectID($0) }?.number ?? 0
        }
        let bridge = try BridgeProcess(place.socket)
        try bridge.ask(#"{"do": "schema", "apply": \#(bridgeModel)}"#)
        #expect(try bridge.finish() == .exited(0))
        let first = try insert()
        for verb in [["status"], ["count", "Tag"], ["log"], ["fetch", "Tag"], ["clients"]] {
            #expect(try CommandRun("tandem", verb + ["--socket", place.socket]).code == 0)
        }
        #expect(try insert() == first + 64)
    }

    @Test func `a usage error is one line`() throws {
        expectLine(try CommandRun("tandem", ["log", "--bogus"]), 2, "--bogus")
        expectLine(try CommandRun("tandem", ["log", "-D"]), 2, "the directory of a store")
        expectLine(try CommandRun("tandem", ["nope"]), 2, "nope")
        expectLine(try CommandRun("tandem", ["fetch"]), 2, "see `tandem fetch --help`")
        expectLine(
            try CommandRun("tandem", ["schema", "diff"]), 2, "see `tandem schema diff --help`")
        expectLine(try CommandRun("tandem", ["log", "--bogus"]), 2, "see `tandem log --help`")
        expectLine(try CommandRun("tandem", ["nope"]), 2, "see `tandem --help`")
    }

    @Test func `help, version and health fail if their output can't be written`() throws {
        try place.serve()
        let tandem = "'\(DaemonProcess.products)/tandem'"
        for words in ["--help", "--version", "help log", "log --help", "status", "health", "log"] {
            let socket = ["status", "health", "log"].contains(words)
            let line = "\(tandem) \(words)\(socket ? " --socket '\(place.socket)'" : "")"
            let full = try CommandRun(shell: "\(line) 2>&1 >/dev/full")
            expectLine(full, 1, "No space left on device (ENOSPC)")
            let closed = try CommandRun(shell: "exec 3>&1; \(line) 2>&3 >&-")
            expectLine(closed, 1, "Bad file descriptor (EBADF)")
        }
        #expect(try CommandRun(shell: "\(tandem) help log <&- >/dev/null 2>&-").code == 0)
    }

    @Test func `help for an unknown verb is refused with a suggestion`() throws {
        expectLine(
            try CommandRun("tandem", ["help", "frob"]), 2, "there is no verb `frob`",
            "see `tandem --help`")
        expectLine(try CommandRun("tandem", ["help", "lgo"]), 2, "did you mean `log`?")
        expectLine(
            try CommandRun("tandem", ["help", "schema", "shwo"]), 2, "did you mean `schema show`?")
        for words in [["help"], ["help", "log"], ["help", "schema", "show"]] {
            expect(try CommandRun("tandem", words), 0, "USAGE")
        }
        expectLine(
            try CommandRun("tandem", ["metrics", "-O", place.path + "/x.txt"]), 2,
            "/x.txt` does not end in .prom; give --output-file FILE.prom")
    }

    @Test func `a property that only another entity has is refused`() throws {
        let daemon = try place.serve()
        let model = try file(
            "model.json",
            """
            {"entities": {"Team": {"attributes": {"name": {"type": "string"}}},
                "Club": {"parent": "Team", "attributes": {"rank": {"type": "int"}}},
                "Tag": {"attributes": {"label": {"type": "string"}, "name": {"type": "string"}}}}}
            """)
        #expect(try tandem("schema", "apply", model).code == 0)
        func check(_ source: [String]) throws {
            func log(_ words: String...) throws -> CommandRun {
                try CommandRun("tandem", ["log"] + words + source)
            }
            expectLine(
                try log("-E", "Team", "-p", "label"), 2,
                "Team has no property `label`; the properties are name, rank")
            expectLine(try log("-E", "Team", "property=label"), 2, "Team has no property `label`")
            expectLine(try log("-E", "Team", "-p", "Tag.label"), 2, "Tag.label")
            expectLine(try log("-p", "labl"), 2, "the model has no property `labl`")
            #expect(try log("-E", "Team", "-p", "rank").output == "-- No entries --\n")
            #expect(try log("-E", "Team", "-p", "name").code == 0)
            #expect(try log("-E", "Club", "-p", "name").code == 0)
            #expect(try log("-E", "Team", "-E", "Tag", "-p", "label").code == 0)
        }
        try check(["--socket", place.socket])
        #expect(daemon.end(SIGTERM) == 0)
        try check(["-D", place.store])
    }

    @Test @MainActor func `common mistakes are reported with a remedy`() throws {
        try place.serve()
        let container = PersistentContainer(socket: place.socket, author: "seeder")
        defer { container.close() }
        let text = #""name": {"type": "string"}, "wins": {"type": "int"}"#
        try container.install(try Self.model(text))
        let path = try file("model.json", #"{"entities": }"#)
        for (words, part) in [
            (["lgo"], "there is no verb `lgo`; did you mean `log`?; see `tandem --help`"),
            (["statis"], "did you mean `status`?"), (["wibble"], "no verb `wibble`; see"),
            (["lgo", "Team"], "no verb `lgo`; did you mean `log`?"),
            (["fetsh", "Team", "--limit", "3"], "no verb `fetsh`; did you mean `fetch`?"),
            (
                ["schema", "shwo"],
                "did you mean `schema show`?; see `tandem schema"
            ),
            (
                ["fetch", "Team", "--where", "name = Qatar"],
                "the properties are name, wins; write a text in quotes"
            ),
            (["fetch", "Team", "--where", "wins > 'x'"], "cannot be compared with an int"),
            (
                ["schema", "check", path],
                "\(path): the model cannot be used: the text is not JSON\n"
            ),
            (
                ["import", place.path, "--entity", "Team"],
                "is a folder; give a map of its files with --map"
            ),
        ] {
            let socket = words.count > 1 ? ["--socket", place.socket] : []
            let run = try CommandRun("tandem", words + socket)
            expectLine(run, 2, part)
        }
        let number = try tandem("fetch", "Team", "--where", "wins = Qatar")
        #expect(number.output.hasSuffix("the properties are name, wins\n"), "\(number.output)")
    }
}
