import Foundation
import Tandem
import TandemIO
import TestSupport
import Testing

/// Two versions of an app on one store; the older version declares the model before the migration.
@Suite @MainActor struct ModelVersionTests {
    let place: Place
    private static let older = ManagedObjectModel {
        Entity("Team", indexes: [["wins"]]) {
            Attribute("name", .string, default: .string(""))
            Attribute("wins", .int, default: .int(0), max: 10)
            Relationship(
                "players", to: "Player", inverse: "team", toMany: true, deleteRule: .cascade)
        }
        Entity("Player") {
            Attribute("name", .string)
            Relationship("team", to: "Team", inverse: "players")
        }
    }
    private static let newer: ManagedObjectModel = {
        var model = older
        model.entities["Team"]?.attributes["city"] = Attribute(
            "city", .string, optional: false, default: .string("?"))
        model.entities["Team"]?.attributes["alpha"] = Attribute("alpha", .int)
        model.entities["Team"]?.attributes["wins"]?.maximum = 20
        model.entities["Team"]?.relationships["coach"] = Relationship(
            "coach", to: "Coach", inverse: "teams")
        model.entities["Coach"] = Entity("Coach") {
            Relationship("teams", to: "Team", inverse: "coach", toMany: true)
        }
        model.entities["Captain"] = Entity("Captain", parent: "Player") {
            Attribute("since", .int)
        }
        return model
    }()

    init() throws {
        place = try Place()
        try place.serve()
    }

    private func container(_ model: ManagedObjectModel?, _ author: String) -> PersistentContainer {
        PersistentContainer(model: model, socket: place.socket, author: author)
    }

    /// Returns contexts of both versions, on a store migrated to the newer model, with a team of
    /// each version.
    private func migrated() throws -> (old: ManagedObjectContext, new: ManagedObjectContext) {
        let first = container(Self.older, "first").makeContext(name: "first")
        let team = try first.insert("Team")
        team["name"] = .string("old")
        try first.save()
        let new = container(Self.newer, "newer").makeContext(name: "new")
        let other = try new.insert("Team")
        other["name"] = .string("new")
        other["city"] = .string("Oslo")
        other["alpha"] = .int(7)
        other.setObject(try new.insert("Coach"), for: "coach")
        try new.save()
        return (container(Self.older, "older").makeContext(name: "old"), new)
    }

    private func team(_ context: ManagedObjectContext, _ name: String) throws -> ManagedObject {
        let request = FetchRequest(
            entity: "Team", predicate: try ObjectPredicate(format: "name == '\(name)'"))
        return try #require(try context.fetch(request).first)
    }

    @Test func `the older app inserts, updates and deletes without loss of data`() throws {
        let (old, new) = try migrated()
        let theirs = try team(old, "new")
        theirs["wins"] = .int(15)
        let player = try old.insert("Player")
        player.setObject(theirs, for: "team")
        let inserted = try old.insert("Team")
        inserted["name"] = .string("added")
        old.delete(try team(old, "old"))
        let position = try old.save()
        _ = try new.fetch(FetchRequest(entity: "Team"))
        #expect(try new.connect().number >= position.number)
        let seen = try team(new, "new")
        #expect(seen["wins"] == .int(15) && seen["city"] == .string("Oslo"))
        #expect(seen["alpha"] == .int(7) && seen.object("coach") != nil)
        #expect(seen.objects("players").count == 1)
        #expect(try team(new, "added")["city"] == .string("?"))
        #expect(try new.count(for: FetchRequest(entity: "Team")) == 2)
        // An object of a subentity that the older app does not know.
        let captain = try new.insert("Captain")
        captain["since"] = .int(1999)
        captain.setObject(seen, for: "team")
        try new.save()
        let players = try old.fetch(FetchRequest(entity: "Player", sort: ["name"]))
        #expect(players.count == 2)
        old.delete(theirs)
        try old.save()
        #expect(try new.count(for: FetchRequest(entity: "Player")) == 0)
        #expect(try new.count(for: FetchRequest(entity: "Coach")) == 1)
    }

    @Test(arguments: MergePolicy.allCases)
    func `every merge policy preserves properties that the older app does not know`(
        _ policy: MergePolicy
    ) throws {
        let (old, new) = try migrated()
        let stale = try team(old, "new")
        #expect(stale["wins"] == .int(0))
        let fresh = try team(new, "new")
        fresh["city"] = .string("Rome")
        fresh["alpha"] = .int(8)
        fresh["wins"] = .int(3)
        try new.save()
        stale["wins"] = .int(5)
        let error: TandemError?
        do {
            try old.save(policy: policy)
            error = nil
        } catch let caught as TandemError {
            error = caught
        }
        #expect((error?.code == .conflict) == (policy == .error))
        let reader = container(nil, "reader").makeContext(name: "reader")
        let seen = try team(reader, "new")
        #expect(seen["city"] == .string("Rome") && seen["alpha"] == .int(8))
        #expect(seen.object("coach") != nil)
        let wins: Int64 = [.objectTrump, .overwrite].contains(policy) ? 5 : 3
        #expect(seen["wins"] == .int(wins))
    }

    @Test func `a list reports an error if a migration makes its model incompatible`() async throws
    {
        let context = container(Self.newer, "app").viewContext
        try context.insert("Team")["name"] = .string("old")
        try await context.save()
        let controller = try FetchedResultsController(
            fetchRequest: FetchRequest(entity: "Team", sort: ["name"]), context: context)
        try await controller.performFetch()
        var changes = controller.changes().makeAsyncIterator()
        var next = Self.newer
        next.entities["Team"]?.attributes["city"] = nil
        try await container(nil, "admin").migrate(to: next)
        var told: TandemError?
        while told == nil, let change = try await changes.next() { told = change.error }
        #expect(told?.code == .schemaMismatch && told?.message.contains("Team.city") == true)
        #expect(controller.error?.code == .schemaMismatch)
        #expect(controller.fetchedObjects.count == 1)
    }

    @Test func `law 4: a list of the older app follows the newer one, and a bridge both`() throws {
        let (old, new) = try migrated()
        let bridge = try BridgeProcess(place.socket)
        let sections = try bridge.ask(
            #"{"do": "open", "controller": "c", "entity": "Team", "sort": ["city", "name"], "sections": "city"}"#
        )
        #expect(sections["sections"]?.array?.count == 2)
        let controller = try FetchedResultsController(
            fetchRequest: FetchRequest(entity: "Team", sort: ["-wins", "name"]), context: old)
        try controller.performFetch()
        try team(new, "old")["wins"] = .int(20)
        try team(new, "old")["city"] = .string("Oslo")
        let position = try new.save()
        try old.save()
        _ = try old.fetch(FetchRequest(entity: "Team"))
        #expect(controller.fetchedObjects.map { $0["name"] } == [.string("old"), .string("new")])
        try bridge.ask(#"{"do": "reach", "position": \#(position.number)}"#)
        let found = try bridge.ask(#"{"do": "sections", "controller": "c"}"#)
        #expect(found["sections"]?.array?.map { $0["name"]?.string } == ["Oslo"])
        #expect(try bridge.ask(#"{"do": "fetch", "entity": "Team"}"#)["objects"]?.array?.count == 2)
    }
}

/// `tandem schema` on a daemon.
@Suite(.ownThread) struct SchemaCommandTests: StoreSuite {
    let place: Place
    let daemon: DaemonProcess

    init() throws {
        place = try Place()
        daemon = try place.serve()
    }

    private func model(_ name: String, _ attributes: String) throws -> String {
        try file(name, #"{"entities": {"Team": {"attributes": {\#(attributes)}}}}"#)
    }

    private static let plain = #""name": {"type": "string"}, "wins": {"type": "string"}"#

    @MainActor private func seed() throws {
        try place.seed(#"{"entities": {"Team": {"attributes": {\#(Self.plain)}}}}"#) { context in
            for (name, wins) in [("A", "1"), ("B", "x"), ("C", "3")] {
                let team = try context.insert("Team")
                team["name"] = .string(name)
                team["wins"] = .string(wins)
            }
            try context.save()
        }
    }

    @Test @MainActor func `diff and check list the differences, and change nothing`() throws {
        try seed()
        let more = try model("more.json", Self.plain + #", "city": {"type": "string"}"#)
        let stricter = try model(
            "less.json", #""name": {"type": "string", "optional": false}, "wins": {"type": "int"}"#)
        #expect(
            try tandem("schema", "diff", more).lines == ["Team.city: added, string (compatible)"])
        #expect(
            try tandem("schema", "diff", more, "-o", "json").json[0]["what"]
                == .string("declaration"))
        #expect(try tandem("schema", "check", more).code == 0)
        let run = try tandem("schema", "check", stricter)
        #expect(run.code == 1 && run.lines.count == 3, "\(run.output)")
        #expect(run.lines[0] == "Team.name: optional true → false (stored objects must satisfy it)")
        #expect(try tandem("log").lines.count == 2)
    }

    @Test @MainActor func `migrate shows its losses, asks, and is shown in the journal`()
        throws
    {
        try seed()
        let next = try model(
            "next.json",
            #""title": {"type": "string", "optional": false, "renamedFrom": "name"}, "wins": {"type": "int"}"#
        )
        let preview = try tandem("schema", "migrate", next, "--dry-run")
        #expect(preview.code == 0, "\(preview.output)")
        #expect(
            preview.lines.contains {
                $0.hasPrefix("Team.wins: type string → int (")
                    && $0.hasSuffix(", 3 objects, 1 lost")
            }, "\(preview.output)")
        #expect(preview.lines.last == "3 objects to rewrite; values or objects lost: 1")
        // The confirmation gets no answer.
        let asked = try tandem("schema", "migrate", next)
        #expect(asked.code == 1 && asked.output.contains("--yes"), "\(asked.output)")
        #expect(try tandem("log").lines.count == 2)
        let done = try tandem("schema", "migrate", next, "--yes")
        #expect(
            done.code == 0 && done.lines.last?.hasPrefix("migrated at position 3@") == true,
            "\(done.output)"
        )
        let again = try tandem("schema", "migrate", next, "--yes")
        #expect(again.lines.last == "the store already has this model", "\(again.output)")
        let log = try tandem("log", "--from", "3")
        #expect(log.output.contains("Team.title: renamed from name ("), "\(log.output)")
        #expect(log.output.contains("Team.wins: type string → int ("))
        #expect(
            try tandem("log", "-o", "json", "--from", "3").json[0]["differences"]?.array?.count == 3
        )
        // Transactions saved under the old name are found by the new name.
        for words in [["-p", "title"], ["property=title"], ["-E", "Team", "-p", "Team.title"]] {
            let found = try CommandRun(
                "tandem", ["log", "-o", "json", "--socket", place.socket] + words)
            #expect(found.json.map { $0["position"] } == [.int(2)], "\(words): \(found.output)")
        }
        #expect(
            try tandem("fetch", "Team", "--where", "wins == nil", "-o", "json").lines.count == 1)
        daemon.end(SIGTERM)
        #expect(try CommandRun("tandem", ["check", "-D", place.store]).code == 0)
    }

    @Test @MainActor func `objects that break a rule are named, and nothing is changed`() throws {
        try seed()
        let next = try model(
            "next.json", Self.plain.replacing(#""name": {"#, with: #""name": {"values": ["A"], "#))
        let run = try tandem("schema", "migrate", next, "--yes")
        #expect(run.code == 1)
        #expect(run.output.contains("(2 objects: Team/2, Team/3)"), "\(run.output)")
        #expect(try tandem("log").lines.count == 2)
    }
}
