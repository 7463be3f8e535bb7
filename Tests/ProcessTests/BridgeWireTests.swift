import Glibc
import TandemIO
import TandemModel
import TestSupport
import Testing

@Suite(.ownThread) struct BridgeWireTests {
    /// A bridge whose request waits for a daemon.
    ///
    /// It is started before the other tests, because the wait takes several seconds.
    private static let lonely = Result {
        let place = try Place()
        let bridge = try BridgeProcess(place.socket)
        try bridge.send(#"{"do": "count", "entity": "Team"}"#)
        return (place: place, bridge: Locked(bridge))
    }

    init() throws { _ = try Self.lonely.get() }

    @Test func `invalid input gets an answer and changes nothing`() throws {
        let daemon = try BridgedDaemon()
        defer { daemon.daemon.end(SIGTERM) }
        let bridge = try daemon.first()
        for line in [
            "", "nonsense", "[]", "3", "{", #"{"do": "fetch"}"#, #"{"id": {}, "do": "count"}"#,
            String(repeating: "[", count: 100_000), String(repeating: "x", count: 17 << 20),
        ] {
            bridge.write(line)
            let answer = try bridge.read()
            #expect(answer["id"] == .null)
            let code = answer["error"]?["code"]?.string
            #expect(code == (line.utf8.count > 16 << 20 ? "limitExceeded" : "usage"))
        }
        for request in [
            #"{}"#, #"{"do": 3}"#, #"{"do": "frob"}"#, #"{"do": "batch", "update": "Team"}"#,
            #"{"do": "fetch"}"#, #"{"do": "fetch", "entity": 3}"#,
            #"{"do": "fetch", "entity": "Team", "at": -1}"#,
            #"{"do": "fetch", "entity": "Team", "wher": "x"}"#,
            #"{"do": "fetch", "entity": "Team", "limit": -1}"#,
            #"{"do": "fetch", "entity": "Team", "sort": [{"key": "name", "up": true}]}"#,
            #"{"do": "fetch", "entity": "Team", "sort": [""]}"#,
            #"{"do": "fetch", "entity": "Team", "arguments": [1]}"#,
            #"{"do": "save"}"#, #"{"do": "save", "ops": {}}"#, #"{"do": "reach"}"#,
            #"{"do": "reach", "position": -1}"#, #"{"do": "reach", "position": 1, "timeout": -1}"#,
            #"{"do": "observe", "entity": "Team"}"#,
            #"{"do": "observe", "observer": "o", "entity": "Team", "where": "ANY players.name == 'x'"}"#,
        ] {
            #expect(try bridge.refusal(request) == "usage", "\(request)")
        }
        for (line, id) in [
            (#"{"id": 7, "do": "count", "entity": "Team", "limit": 1e400}"#, JSON.int(7)),
            (
                #"{"do": "save", "ops": [{"insert": "Team", "set": {"rate": -1e400}}], "id": "x"}"#,
                .string("x")
            ),
            (#"{"id": {"a": 1}, "do": "count", "limit": 1e400}"#, .null),
            (#"{"id": 7, "do": "count", "limit": 1e400"#, .null),
        ] {
            bridge.write(line)
            let answer = try bridge.read()
            #expect(answer["id"] == id, "\(line)")
            #expect(answer["error"]?["code"] == .string("usage"), "\(line)")
        }
        #expect(
            try bridge.refusal(#"{"do": "reach", "position": 9, "timeout": 0.01}"#) == "timeout")
        bridge.write(#"{"id": "x", "do": "count", "entity": "Team"}"#)
        #expect(try bridge.read() == .of(#"{"id": "x", "ok": {"count": 0, "position": 1}}"#))
        #expect(try bridge.finish() == .exited(0))
    }

    @Test func `a context that can't merge reports a failure first, and catches up later`()
        throws
    {
        let daemon = try BridgedDaemon()
        defer { daemon.daemon.end(SIGTERM) }
        let saver = try daemon.first("saver")
        let path = daemon.place.path + "/relay"
        let relay = try RefusingRelay(path, to: daemon.place.socket)
        let reader = try BridgeProcess(path)
        try saver.ask(#"{"do": "save", "ops": [{"insert": "Team", "set": {"name": "A"}}]}"#)
        try reader.ask(
            #"{"do": "open", "controller": "c", "entity": "Team", "sort": ["name"], "where": "ANY players.name == 'x'"}"#
        )
        relay.refuse(TandemError(.timeout, "too busy"))
        let save = try saver.ask(
            #"{"do": "save", "ops": [{"insert": "Player", "set": {"name": "x", "team": "Team/1"}}]}"#
        )
        #expect(save["position"] == .int(3))
        // The answer names a position that the context can't reach.
        #expect(try reader.ask(#"{"do": "schema"}"#)["position"] == .int(3))
        let failure = try JSON.of(
            #"{"event": "failure", "context": "main", "position": 2, "error": {"code": "timeout", "message": "too busy"}}"#
        )
        #expect(reader.drainEvents() == [failure])
        relay.refuse(nil)
        try reader.ask(#"{"do": "schema"}"#)
        let events = reader.drainEvents()
        #expect(events.map { $0["event"]?.string } == ["change"], "\(events)")
        #expect(events.first?["position"] == .int(3))
        #expect(try reader.finish() == .exited(0))
    }

    @Test func `a failed merge is reported without a request, once until it succeeds`()
        throws
    {
        let daemon = try BridgedDaemon()
        defer { daemon.daemon.end(SIGTERM) }
        let saver = try daemon.first("saver")
        let path = daemon.place.path + "/relay"
        let relay = try RefusingRelay(path, to: daemon.place.socket)
        let reader = try BridgeProcess(path)
        func save(_ player: String) throws {
            try saver.ask(
                #"{"do": "save", "ops": [{"insert": "Player", "set": {"name": "\#(player)", "team": "Team/1"}}]}"#
            )
        }
        try saver.ask(#"{"do": "save", "ops": [{"insert": "Team", "set": {"name": "A"}}]}"#)
        try reader.ask(
            #"{"do": "open", "controller": "c", "entity": "Team", "sort": ["name"], "where": "ANY players.name IN {'x', 'y'}"}"#
        )
        for (position, player) in [(2, "x"), (5, "y")] {
            relay.refuse(TandemError(.timeout, "too busy"))
            try save(player)
            let failure = try JSON.of(
                #"{"event": "failure", "context": "main", "position": \#(position), "error": {"code": "timeout", "message": "too busy"}}"#
            )
            let event = try reader.event()
            #expect(event == failure)
            try save("other")
            try reader.ask(#"{"do": "schema"}"#)
            #expect(reader.drainEvents().isEmpty)
            relay.refuse(nil)
            let saved = try saver.ask(
                #"{"do": "save", "ops": [{"update": "Team/1", "set": {"name": "\#(player)"}}]}"#)
            // The reader may already have merged the other save and reported it in an earlier
            // change.
            var change = try reader.event()
            while change["event"] == .string("change"), change["position"] != saved["position"] {
                change = try reader.event()
            }
            #expect(change["event"] == .string("change"), "\(change)")
        }
        #expect(try reader.finish() == .exited(0))
    }

    @Test func `a killed daemon is restarted, and no change is missed or repeated`() throws {
        let place = try Place()
        var daemon = try place.serve()
        let (one, two) = (try BridgeProcess(place.socket), try BridgeProcess(place.socket))
        try one.ask(#"{"do": "schema", "apply": \#(bridgeModel)}"#)
        _ = one.drainEvents()
        try two.ask(#"{"do": "observe", "observer": "o", "entity": "Team"}"#)
        try two.ask(#"{"do": "open", "controller": "c", "entity": "Team", "sort": ["name"]}"#)
        for round in 1...3 {
            try one.ask(
                #"{"do": "save", "ops": [{"insert": "Team", "set": {"name": "\#(round)a"}}]}"#)
            daemon.end(SIGKILL)
            #expect(try one.event()["state"] == .string("lost"))
            daemon = try place.serve()
            // Sent at once: the request waits for the connection.
            try one.ask(
                #"{"do": "save", "ops": [{"insert": "Team", "set": {"name": "\#(round)b"}}]}"#)
            // Both bridges notice this loss of the connection before the next one.
            try two.ask(#"{"do": "reach", "position": \#(2 * round + 1)}"#)
            let states = one.drainEvents().map { $0["state"]?.string }
            #expect(states == ["restored"])
        }
        let end = try one.ask(#"{"do": "count", "entity": "Team"}"#)["position"]?.int ?? 0
        #expect(end == 7)
        try two.ask(#"{"do": "reach", "position": \#(end)}"#)
        let events = two.drainEvents()
        func positions(_ kind: String) -> [Int64] {
            events.filter { $0["event"]?.string == kind }.compactMap { $0["position"]?.int }
        }
        #expect(positions("save") == [2, 3, 4, 5, 6, 7])
        #expect(positions("change").last == 7)
        let inserted = events.flatMap { $0["objects"]?.array ?? [] }.compactMap {
            $0["object"]?.string
        }
        #expect(inserted.count == 6 && Set(inserted).count == 6)
        let states = events.compactMap { $0["state"]?.string }
        // A reader may still have been reconnecting when the daemon was killed again.
        let pairs = states.count / 2
        #expect((1...3).contains(pairs))
        #expect(states == Array(repeating: ["lost", "restored"], count: pairs).flatMap { $0 })
        #expect(daemon.end(SIGTERM) == 0)
    }

    @Test func `law 2: an observer whose history expired is notified on reconnection`()
        throws
    {
        let world = try BridgedDaemon()
        let saver = try world.first("saver")
        let reader = try world.bridge("reader")
        try reader.ask(#"{"do": "observe", "observer": "o", "entity": "Team"}"#)
        let save = { (name: String) in
            try saver.ask(
                #"{"do": "save", "ops": [{"insert": "Team", "set": {"name": "\#(name)"}}]}"#)[
                    "position"]
        }
        for name in ["a", "b", "c"] { _ = try save(name) }
        try reader.ask(#"{"do": "reach", "position": 4}"#)
        #expect(reader.drainEvents().count == 3)
        // The restored store has another epoch, so no earlier history can be resumed.
        let (backup, again) = (world.place.path + "/backup", world.place.path + "/again")
        try CommandRun("tandem", ["backup", backup, "-D", world.place.store]).check()
        #expect(world.daemon.end(SIGTERM) == 0)
        try CommandRun("tandem", ["restore", backup, "--store", again]).check()
        let daemon = try DaemonProcess.serving(store: again, socket: world.place.socket)
        #expect(try reader.ask(#"{"do": "count", "entity": "Team"}"#)["count"] == .int(3))
        let events = reader.drainEvents()
        // Only event kinds of the documented contract; they may have further keys.
        #expect(
            events.compactMap { $0["event"]?.string } == ["connection", "connection", "connection"])
        #expect(events.compactMap { $0["state"]?.string } == ["lost", "restored", "restored"])
        #expect(events.last?["missed"] == (try .of(#"{"observer": "o", "after": 4}"#)))
        #expect(try save("d") == .int(5))
        try reader.ask(#"{"do": "reach", "position": 5}"#)
        #expect(reader.drainEvents().compactMap { $0["event"]?.string } == ["save"])
        _ = try reader.finish()
        _ = try saver.finish()
        #expect(daemon.end(SIGTERM) == 0)
    }

    @Test func `law 3: a save without an answer leaves no state and may be retried`() throws {
        let place = try Place()
        var daemon = try place.serve()
        let bridge = try BridgeProcess(place.socket)
        try bridge.ask(#"{"do": "schema", "apply": \#(bridgeModel)}"#)
        let save = #"""
            {"do": "save", "saveId": "s", "ops": [{"insert": "Team", "as": "t", "set": {"name": "A"}}]}
            """#
        try bridge.ask(#"{"do": "count", "entity": "Team"}"#)
        kill(daemon.processID, SIGSTOP)
        try bridge.send(save)
        daemon.end(SIGKILL)
        var answer = try bridge.read()
        while answer["id"] == nil { answer = try bridge.read() }
        // Whether the save was sent before the daemon died depends on the scheduler.
        let code = answer["error"]?["code"]?.string
        #expect(code == "unknownOutcome" || code == "disconnected", "\(answer)")
        daemon = try place.serve()
        #expect(try bridge.ask(#"{"do": "fetch", "entity": "Team"}"#).ids.isEmpty)
        #expect(
            try bridge.refusal(#"{"do": "save", "ops": [{"delete": "$t"}]}"#) == "unknownObject")
        let first = try bridge.ask(save)
        #expect(try bridge.ask(save) == first)
        #expect(try bridge.ask(#"{"do": "count", "entity": "Team"}"#)["count"] == .int(1))
        #expect(daemon.end(SIGTERM) == 0)
    }

    @Test func `laws 2 and 4: writer and readers agree, even if a reader is killed`() throws {
        let daemon = try BridgedDaemon()
        defer { daemon.daemon.end(SIGTERM) }
        let writer = try daemon.first("writer")
        let open = #"""
            {"do": "open", "controller": "c", "entity": "Team", "sort": ["zone", "name"], "sections": "zone"}
            """#
        let observe = #"{"do": "observe", "observer": "o", "entity": "Team"}"#
        let steady = try daemon.bridge("steady")
        try steady.ask(observe)
        try steady.ask(open)
        var random = SplitMix64(seed: seed)
        var position: Int64 = 1
        func write(_ count: Int) throws {
            for _ in 0..<count {
                let zone = ["x", "y", "z"].randomElement(using: &random) ?? "x"
                let target = Int64.random(in: 0...position, using: &random)
                let known =
                    target > 1
                    ? try writer.ask(
                        #"{"do": "count", "entity": "Team", "where": "SELF == %@", "arguments": [{"object": "Team/\#(target)"}]}"#
                    )["count"] : .int(0)
                let op =
                    switch known {
                    case .int(1) where target % 3 == 0: #"{"delete": "Team/\#(target)"}"#
                    case .int(1):
                        #"{"update": "Team/\#(target)", "set": {"zone": "\#(zone)", "wins": \#(position)}}"#
                    default:
                        #"{"insert": "Team", "set": {"name": "n\#(position)", "zone": "\#(zone)"}}"#
                    }
                let saved = try writer.ask(#"{"do": "save", "ops": [\#(op)]}"#)
                let next = saved["position"]?.int ?? 0
                #expect(next == position + 1, "seed \(seed)")
                position = next
            }
        }
        for _ in 0..<3 {
            let doomed = try daemon.bridge("doomed")
            let start = try doomed.ask(observe)["position"]?.int ?? 0
            try doomed.ask(open)
            try write(10)
            doomed.kill()
            try write(10)
            let seen = try doomed.rest().filter { $0["event"]?.string == "save" }
                .compactMap { $0["position"]?.int }
            #expect(seen == (0..<Int64(seen.count)).map { start + 1 + $0 }, "seed \(seed)")
        }
        let late = try daemon.bridge("late")
        let before = try late.ask(observe)["position"]?.int ?? 0
        try late.ask(open)
        try write(20)
        let lists = try [steady, late].map { reader in
            try reader.ask(#"{"do": "reach", "position": \#(position)}"#)
            return try reader.ask(#"{"do": "sections", "controller": "c"}"#)
        }
        #expect(lists[0] == lists[1], "seed \(seed)")
        let fetched = try writer.ask(
            #"{"do": "fetch", "entity": "Team", "sort": ["zone", "name"]}"#)
        let listed = lists[0]["sections"]?.array?.flatMap { $0["objects"]?.array ?? [] }
        #expect(listed?.compactMap(\.string) == fetched.ids, "seed \(seed)")
        for (reader, first) in [(steady, 1), (late, before)] {
            let saves = reader.drainEvents().filter { $0["event"]?.string == "save" }
            #expect(
                saves.compactMap { $0["position"]?.int } == Array((first + 1)...position),
                "seed \(seed)")
        }
    }
    @Test func `without a daemon a request is refused in time, and the bridge continues`() throws {
        let (place, lonely) = try Self.lonely.get()
        try lonely.withLock { bridge in
            let answer = try bridge.read()
            #expect(answer["error"]?["code"] == .string("disconnected"), "\(answer)")
            let daemon = try place.serve()
            defer { daemon.end(SIGTERM) }
            #expect(try bridge.ask(#"{"do": "schema"}"#)["position"] == .int(0))
            #expect(bridge.drainEvents().isEmpty)
        }
    }
}
