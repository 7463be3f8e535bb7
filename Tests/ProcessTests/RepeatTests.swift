import Glibc
import Tandem
import TandemIO
import TandemModel
import TandemWire
import TestSupport
import Testing

/// A daemon that can be restarted, with a bridge that can be replaced.
final class RepeatWorld {
    let place: Place
    private(set) var daemon: DaemonProcess
    private(set) var bridge: BridgeProcess

    init() throws {
        place = try Place()
        daemon = try place.serve()
        bridge = try BridgeProcess(place.socket)
        try bridge.ask(#"{"do": "schema", "apply": \#(bridgeModel)}"#)
    }

    func restart(_ signal: Int32) throws {
        daemon.end(signal)
        daemon = try place.serve()
    }

    func renew() throws {
        bridge.kill()
        bridge = try BridgeProcess(place.socket)
    }

    /// Returns all objects in the store, and the end of the journal.
    func state() throws -> [JSON] {
        try ["Team", "Player", "Tag"].map {
            try bridge.ask(#"{"do": "fetch", "entity": "\#($0)", "context": "look"}"#)
        } + (try bridge.ask(#"{"do": "schema"}"#)["position"].map { [$0] } ?? [])
    }

    /// Returns the ids of an entity and its subentities.
    func ids(_ entity: String) throws -> [String] {
        try bridge.ask(#"{"do": "fetch", "entity": "\#(entity)"}"#).ids
    }

    func end() {
        bridge.kill()
        daemon.end(SIGTERM)
    }
}

@Suite(.ownThread, .serialized) struct RepeatTests {
    private func save(_ id: String, _ policy: String, _ ops: String) -> String {
        #"{"do": "save", "saveId": "\#(id)", "policy": "\#(policy)", "ops": [\#(ops)]}"#
    }

    /// Returns saves that do not keep all of their inserts, with the expected ids of their aliases.
    private func saves(_ policy: String) throws -> [(line: String, objects: JSON?)] {
        var saves: [(String, String)] = [
            // Insert and deletion of the same alias.
            (
                #"{"insert": "Team", "as": "t", "set": {"name": "C"}}, {"delete": "$t"}, {"insert": "Tag", "as": "u"}"#,
                #"{"u": "Tag/5"}"#
            ),
            // The same, but the deletion of an existing object cascades to a new one.
            (
                #"{"insert": "Player", "as": "r", "set": {"team": "Team/2"}}, {"delete": "Team/2"}, {"insert": "Tag", "as": "u"}, {"insert": "Tag", "as": "v"}, {"delete": "$v"}"#,
                #"{"u": "Tag/7"}"#
            ),
        ]
        if policy != "error" {
            // Inserts that resolve to an existing object, alone and with the deletion of another
            // one.
            let clash = #"{"insert": "Team", "as": "q", "set": {"name": "A", "wins": 7}}"#
            saves += [
                (#"{"insert": "Tag", "as": "g"}, \#(clash)"#, #"{"g": "Tag/9", "q": "Team/1"}"#),
                (
                    #"\#(clash), {"delete": "Team/3"}, {"insert": "Player", "as": "p", "set": {"team": "$q"}}"#,
                    #"{"q": "Team/1", "p": "Player/12"}"#
                ), (clash, #"{"q": "Team/1"}"#),
            ]
        }
        return try saves.enumerated().map {
            (save("s\($0)", policy, $1.0), try JSON.of($1.1))
        }
    }

    @Test(arguments: ["error", "storeTrump", "objectTrump", "overwrite", "rollback"])
    func `law 3: a retry reports the outcome of every insert`(policy: String) throws {
        let world = try RepeatWorld()
        defer { world.end() }
        try world.bridge.ask(
            """
            {"do": "save", "ops": [{"insert": "Team", "set": {"name": "A"}}, {"insert": "Team", "set": {"name": "B"}},
            {"insert": "Team", "set": {"name": "X"}}]}
            """)
        var firsts: [(String, JSON)] = []
        for (line, objects) in try saves(policy) {
            let first = try world.bridge.ask(line)
            #expect(first["objects"] == objects, "\(line)")
            firsts.append((line, first))
        }
        // `$t` was deleted by the save that inserted it.
        #expect(
            try world.bridge.refusal(#"{"do": "save", "ops": [{"delete": "$t"}]}"#)
                == "unknownObject")
        for change in [
            #"{"update": "Team/1", "set": {"name": "Z"}}"#,
            #"{"insert": "Team", "set": {"name": "A"}}"#, #"{"delete": "Team/1"}"#,
        ] {
            try world.bridge.ask(#"{"do": "save", "ops": [\#(change)]}"#)
            let before = try world.state()
            for (line, first) in firsts { #expect(try world.bridge.ask(line) == first, "\(line)") }
            #expect(try world.state() == before)
            try world.restart(SIGKILL)
            for (line, first) in firsts { #expect(try world.bridge.ask(line) == first, "\(line)") }
            try world.renew()
            for (line, first) in firsts { #expect(try world.bridge.ask(line) == first, "\(line)") }
            #expect(try world.state() == before)
        }
        let other = save("s0", policy, #"{"insert": "Tag"}"#)
        #expect(try world.bridge.refusal(other) == "usage")
    }

    @Test func `law 3: aliases in a retry refer to the same objects as before`() throws {
        let world = try RepeatWorld()
        defer { world.end() }
        try world.bridge.ask(
            #"{"do": "save", "ops": [{"insert": "Team", "as": "t", "set": {"name": "A"}}]}"#)
        // An alias of an earlier save, which this save reassigns, and a text that looks like an
        // alias.
        let line = save(
            "s", "error",
            #"{"update": "$t", "set": {"wins": 3, "zone": "$t"}}, {"insert": "Team", "as": "t", "set": {"name": "$t"}}"#
        )
        let first = try world.bridge.ask(line)
        #expect(try first["objects"] == .of(#"{"t": "Team/2"}"#))
        #expect(try world.bridge.ask(line) == first)
        // With ids instead of aliases, from another process.
        try world.renew()
        let same = save(
            "s", "error",
            #"{"update": "Team/1", "set": {"wins": 3, "zone": "$t"}}, {"insert": "Team", "as": "z", "set": {"name": "$t"}}"#
        )
        #expect(try world.bridge.ask(same)["objects"] == .of(#"{"z": "Team/2"}"#))
        let names = try world.bridge.ask(#"{"do": "fetch", "entity": "Team", "sort": ["name"]}"#)
        #expect(names["objects"]?.array?.map { $0["values"]?["name"]?.string } == ["$t", "A"])
    }

    @Test func `law 3: a retried save without effect gets its first answer`() throws {
        let world = try RepeatWorld()
        defer { world.end() }
        try world.bridge.ask(#"{"do": "save", "ops": [{"insert": "Team", "set": {"name": "A"}}]}"#)
        let lines = [
            save("e", "error", ""),
            save("r", "storeTrump", #"{"insert": "Team", "as": "t", "set": {"name": "A"}}"#),
            save("d", "error", #"{"insert": "Tag", "as": "t"}, {"delete": "$t"}"#),
            save("u", "error", #"{"update": "Team/1", "set": {"name": "A"}}"#),
        ]
        let firsts = try lines.map { try world.bridge.ask($0) }
        #expect(firsts.map { $0["position"] } == Array(repeating: .int(2), count: 4))
        try world.restart(SIGKILL)
        try world.bridge.ask(#"{"do": "save", "ops": [{"delete": "Team/1"}]}"#)
        for _ in 0..<2 {
            #expect(try lines.map { try world.bridge.ask($0) } == firsts)
            #expect(try world.ids("Team").isEmpty)
            try world.renew()
        }
        #expect(try world.bridge.refusal(save("e", "error", #"{"insert": "Tag"}"#)) == "usage")
    }

    @Test func `law 3: random saves retried anywhere at any time get their first answers`()
        throws
    {
        let world = try RepeatWorld()
        defer { world.end() }
        var random = SplitMix64(seed: seed)
        var firsts: [(line: String, answer: JSON)] = []
        var errors = 0
        for round in 0..<Volume.of(80, deep: 160) {
            switch Int.random(in: 0..<24, using: &random) {
            case 0: try world.restart(SIGKILL)
            case 1: try world.restart(SIGTERM)
            case 2: try world.renew()
            case 3..<12:
                guard let first = firsts.randomElement(using: &random) else { continue }
                let before = try world.state()
                #expect(try world.bridge.ask(first.line) == first.answer, "\(seed): \(first.line)")
                #expect(try world.state() == before, "seed \(seed): \(first.line)")
            default:
                let line = try random.saveLine("s\(round)", world)
                let answer = try world.bridge.answer(line)
                if let ok = answer["ok"] { firsts.append((line, ok)) } else { errors += 1 }
                let code = answer["error"]?["code"]?.string ?? "uniqueness"
                #expect(["uniqueness", "conflict", "unknownObject"].contains(code), "\(answer)")
            }
        }
        #expect(firsts.count > Volume.of(20, deep: 40) && errors < firsts.count, "seed \(seed)")
    }
}

extension SplitMix64 {
    /// Returns a save under a random policy, with clashing names and with deletions of new and old
    /// objects.
    fileprivate mutating func saveLine(_ id: String, _ world: RepeatWorld) throws -> String {
        let policies = ["error", "storeTrump", "objectTrump", "overwrite", "rollback"]
        let (teams, players) = (try world.ids("Team"), try world.ids("Player"))
        var ops: [String] = []
        var aliases: [String] = []
        for number in 0..<Int.random(in: 0...5, using: &self) {
            let name = ["A", "B", "C", "D", "E"].randomElement(using: &self) ?? "A"
            let wins = Int.random(in: 0...3, using: &self)
            let team = (teams + aliases).randomElement(using: &self)
            let alias = "a\(Int.random(in: 0...1, using: &self))\(number)"
            switch Int.random(in: 0..<8, using: &self) {
            case 0..<3:
                ops.append(
                    #"{"insert": "Team", "as": "\#(alias)", "set": {"name": "\#(name)", "wins": \#(wins)}}"#
                )
                aliases.append("$" + alias)
            case 3:
                let owner = team.map { #""\#($0)""# } ?? "null"
                ops.append(
                    #"{"insert": "Player", "as": "p\#(number)", "set": {"team": \#(owner)}}"#)
            case 4: if let alias = aliases.popLast() { ops.append(#"{"delete": "\#(alias)"}"#) }
            case 5..<7:
                guard let team = teams.randomElement(using: &self) else { continue }
                ops.append(#"{"update": "\#(team)", "set": {"wins": \#(wins)}}"#)
            default:
                guard let old = (teams + players).randomElement(using: &self) else { continue }
                ops.append(#"{"delete": "\#(old)"}"#)
            }
        }
        let policy = policies.randomElement(using: &self) ?? "error"
        return
            #"{"do": "save", "saveId": "\#(id)", "policy": "\#(policy)", "ops": [\#(ops.joined(separator: ", "))]}"#
    }
}
