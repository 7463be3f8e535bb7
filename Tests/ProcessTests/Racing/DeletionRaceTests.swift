import Foundation
import Tandem
import TandemIO
import TandemWire
import TestSupport
import Testing

/// Deletions of an object by another process between any two messages of an import, a revert or a
/// bridge's save.
///
/// Run N deletes the object before message N reaches the daemon, so every moment between two
/// messages is tested. Imports have many messages; a third of them is tested unless the run is
/// deep.
@Suite(.ownThread) struct DeletionRaceTests: StoreSuite {
    let place: Place
    private let relay: RefusingRelay
    /// The other process, which deletes objects.
    private let other: Locked<BridgeProcess>
    private var relayed: String { place.path + "/relay" }

    private static let model = """
        {"entities": {
            "Team": {"attributes": {"name": {"type": "string"}},
                "relationships": {"people": {"to": "Person", "toMany": true, "inverse": "team"}},
                "uniqueness": [["name"]]},
            "Person": {"attributes": {"name": {"type": "string"}, "age": {"type": "int"}},
                "relationships": {"team": {"to": "Team", "inverse": "people"},
                    "boss": {"to": "Person", "inverse": "staff"},
                    "staff": {"to": "Person", "toMany": true, "inverse": "boss"},
                    "friends": {"to": "Person", "toMany": true, "inverse": "friendOf"},
                    "friendOf": {"to": "Person", "toMany": true, "inverse": "friends"},
                    "heirs": {"to": "Person", "toMany": true, "ordered": true, "inverse": "heirOf"},
                    "heirOf": {"to": "Person", "inverse": "heirs"}}}}}
        """

    init() throws {
        place = try .serving(Self.model)
        relay = try RefusingRelay(place.path + "/relay", to: place.socket)
        other = Locked(try BridgeProcess(place.socket, author: "other"))
    }

    /// The progress of one run through the relay.
    private struct Progress {
        var hasBegun = false
        var messages = 0
        var hasSaved = false
        /// Whether the object was deleted before the first save.
        var isDeletedEarly = false
    }

    /// Calls `action` in numbered runs until a run has fewer messages than its number.
    ///
    /// Before message N of run N reaches the daemon, the entity's object that is named `gone N` is
    /// deleted, if it exists by then. Messages are counted from the first one that satisfies
    /// `isFirst`. Only every `step`-th run is carried out.
    ///
    /// `prepare` receives the number of the run. Its result is passed to `action`, which returns
    /// after the last message. `check` receives both results, and whether the object was deleted
    /// before the first save.
    private func atEachMessage<Input, Output>(
        every step: Int = 1,
        from isFirst: @escaping @Sendable (ClientMessage) -> Bool = { _ in true },
        deleting entity: String = "Person", _ prepare: (_ run: Int) throws -> Input,
        running action: (Input) throws -> Output,
        check: (Input, Output, _ isDeletedEarly: Bool) throws -> Void
    ) throws {
        var deletions = 0
        for run in stride(from: 1 + Int(seed % UInt64(step)), through: 100, by: step) {
            let input = try prepare(run)
            let progress = Locked(Progress())
            let other = other
            relay.beforeForwarding { message in
                let isDue = progress.withLock { progress in
                    if isFirst(message) { progress.hasBegun = true }
                    if progress.hasBegun { progress.messages += 1 }
                    return progress.messages == run
                }
                let isDeleted = isDue ? try Self.delete(entity, "gone \(run)", other) : false
                progress.withLock { progress in
                    if isDeleted { progress.isDeletedEarly = !progress.hasSaved }
                    if case .save = message { progress.hasSaved = true }
                }
            }
            let output = try action(input)
            relay.beforeForwarding { _ in }
            let end = progress.withLock { $0 }
            try check(input, output, end.isDeletedEarly)
            if end.isDeletedEarly { deletions += 1 }
            guard end.messages < run else { continue }
            #expect(deletions > 0, "no object was deleted before a save")
            return
        }
        Issue.record("a run has more than 100 messages")
    }

    /// Deletes the newest object with a name; returns false if there is none.
    private static func delete(
        _ entity: String, _ name: String, _ other: Locked<BridgeProcess>
    ) throws -> Bool {
        try other.withLock { other in
            let found = try other.ask(
                #"{"do": "fetch", "entity": "\#(entity)", "where": "name = '\#(name)'"}"#)
            guard let id = found.ids.last else { return false }
            try other.ask(#"{"do": "save", "ops": [{"delete": "\#(id)"}]}"#)
            return true
        }
    }

    @Test(arguments: ["Person", "Team"])
    func `an import rejects links to an object that was deleted meanwhile, and names the lines`(
        _ entity: String
    ) throws {
        let isInsert = { @Sendable (message: ClientMessage) in
            if case .insert = message { true } else { false }
        }
        let step = Volume.of(3, deep: 1)
        try atEachMessage(every: step, from: isInsert, deleting: entity) { run in
            let (team, person) =
                entity == "Team" ? ("gone \(run)", "c") : ("team \(run)", "gone \(run)")
            return try file(
                "rows \(run).ndjson",
                """
                {"entity": "Team", "id": "Team/7", "values": {"name": "\(team)"}}
                {"entity": "Person", "id": "Person/1", "values": {"name": "a", "boss": "Person/3"}}
                {"entity": "Person", "id": "Person/2", "values": {"name": "b \(run)", "boss": "Person/1"}}
                {"entity": "Person", "id": "Person/3", "values": {"name": "\(person)", "boss": "Person/2"}}
                {"entity": "Person", "id": "Person/4", "values": {"name": "c", "heirs": ["Person/2", "Person/3"]}}
                {"entity": "Person", "id": "Person/5", "values": {"name": "d", "team": "Team/7", "friends": ["Person/3"]}}

                """)
        } running: { path in
            try CommandRun("tandem", ["import", path, "--socket", relayed])
        } check: { path, run, isDeletedEarly in
            // The first save sets links to one object, the second save all others. The second may
            // still find the object deleted.
            guard isDeletedEarly || run.code != 0 else { return }
            #expect(run.code == 1, "\(run.output)")
            let rejects = try String(contentsOfFile: path + ".rejects", encoding: .utf8)
                .split(separator: "\n").map { try JSON(parsing: String($0)) }
            // The lines of the rows that refer to the object, and of its own row.
            let early: [Int64] = entity == "Team" ? [6] : [2, 4, 5, 6]
            let lines = rejects.compactMap { $0["line"]?.int }.sorted()
            #expect(lines == early || !isDeletedEarly && entity != "Team" && lines == [5])
            for reject in rejects {
                let reason = reject["error"]?.string ?? ""
                #expect(
                    reason.contains("does not exist")
                        || reason.contains("was deleted during the import")
                        || reason.contains("there is no Team with this unique key"), "\(reason)")
                #expect(reason.contains("\(entity)/"), "\(reason)")
            }
            // All other links are set.
            let name = path.split(separator: " ").last?.prefix { $0 != "." } ?? ""
            let others = "name = 'b \(name)' AND boss.name = 'a'"
            let count = try other.withLock {
                try $0.ask(#"{"do": "count", "entity": "Person", "where": "\#(others)"}"#)
            }
            #expect(count["count"] == .int(1))
        }
    }

    @Test(arguments: ["insert", "update", "delete", "unlink"])
    func `revert lists objects that were deleted meanwhile as conflicts`(_ kind: String) throws {
        let bridge = try BridgeProcess(place.socket)
        try atEachMessage { run in
            let (gone, other) = try people(run, bridge)
            let op =
                switch kind {
                case "insert":
                    #"{"insert": "Person", "set": {"name": "gone \#(run)", "boss": "\#(other)"}}"#
                case "update":
                    #"{"update": "\#(gone)", "set": {"age": 2, "boss": "\#(other)"}, "add": {"friends": ["\#(other)"]}}"#
                case "delete": #"{"delete": "\#(other)"}"#
                default:
                    #"{"update": "\#(other)", "set": {"boss": null}, "remove": {"friends": ["\#(gone)"], "heirs": ["\#(gone)"]}}"#
                }
            return try #require(
                try bridge.ask(#"{"do": "save", "ops": [\#(op)]}"#)["position"]?.text)
        } running: { position in
            try CommandRun("tandem", ["revert", position, "--socket", relayed])
        } check: { position, run, isDeletedEarly in
            guard isDeletedEarly else {
                return expect(run, 0, "reverted transaction \(position) by")
            }
            // The revert of an insert succeeds if the object was deleted already.
            if kind == "insert", run.code == 0 { return }
            expect(
                run, 1, "conflict: Person/", "transaction \(position) cannot be reverted: ",
                "; nothing was saved")
            #expect(!run.lines.contains { $0.hasPrefix("update ") }, "\(run.output)")
        }
    }

    /// Saves two people who are linked in every way, the first of them named `gone N`.
    private func people(
        _ run: Int, _ bridge: BridgeProcess
    ) throws -> (gone: String, other: String) {
        let objects = try bridge.ask(
            #"""
            {"do": "save", "ops": [{"insert": "Person", "as": "gone", "set": {"name": "gone \#(run)", "age": 1}},
            {"insert": "Person", "as": "other", "set": {"name": "b", "boss": "$gone", "friends": ["$gone"], "heirs": ["$gone"]}}]}
            """#)["objects"]
        return (
            try #require(objects?["gone"]?.string), try #require(objects?["other"]?.string)
        )
    }

    /// Ops with a person that another process deletes, and one that stays.
    private static let ops = [
        #"{"update": "GONE", "set": {"age": 2}}"#,
        #"{"update": "GONE", "set": {"boss": "OTHER", "friends": ["OTHER"], "heirs": ["OTHER"]}}"#,
        #"{"update": "GONE", "add": {"friends": ["OTHER"], "heirs": ["OTHER"]}, "remove": {"staff": ["OTHER"]}}"#,
        #"{"update": "OTHER", "set": {"boss": "GONE", "age": 3}, "remove": {"friends": ["GONE"]}}"#,
        #"{"update": "OTHER", "add": {"staff": ["GONE"], "friendOf": ["GONE"], "heirs": ["GONE"]}}"#,
        #"{"update": "OTHER", "set": {"friendOf": ["GONE"], "staff": ["GONE"]}}"#,
    ]

    /// Ops that may have nothing left to change after the deletion.
    private static let opsWithoutEffect = [
        #"{"update": "OTHER", "set": {"heirs": ["GONE"]}}"#,
        #"{"update": "OTHER", "remove": {"heirs": ["GONE"]}}"#,
        #"{"delete": "GONE"}"#,
    ]

    @Test(arguments: ops + opsWithoutEffect)
    func `a bridge's save with an object that was deleted meanwhile fails and names the object`(
        _ op: String
    ) throws {
        let honest = try BridgeProcess(place.socket)
        let bridge = try BridgeProcess(relayed)
        try bridge.ask(#"{"do": "schema"}"#)
        try atEachMessage { run in
            let (gone, other) = try people(run, honest)
            let text = op.replacing("GONE", with: gone).replacing("OTHER", with: other)
            return (gone: gone, text: #"{"do": "save", "context": "c\#(run)", "ops": [\#(text)]}"#)
        } running: { request in
            try bridge.answer(request.text)
        } check: { request, answer, isDeletedEarly in
            guard isDeletedEarly, answer["ok"] == nil || !Self.opsWithoutEffect.contains(op) else {
                #expect(answer["ok"] != nil, "\(answer)")
                return
            }
            let error = answer["error"]
            #expect(error?["message"]?.string?.contains(request.gone) == true, "\(answer)")
            guard error?["code"]?.string != "unknownObject" else { return }
            #expect(error?["code"]?.string == "conflict", "\(answer)")
            let objects = error?["conflicts"]?.array?.compactMap { $0["object"]?.string }
            #expect(objects?.contains(request.gone) == true, "\(answer)")
        }
    }
}
