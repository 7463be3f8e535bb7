import TandemModel
import TandemQuery
import Testing

@testable import TandemStore

/// The league model under other names, all with rename hints.
private let renamedModel = ManagedObjectModel {
    Entity(
        "Club", uniqueness: [["title"]], indexes: [["town"], ["town", "points"]],
        renamedFrom: "Team"
    ) {
        Attribute("title", .string, renamedFrom: "name")
        Attribute("town", .string, renamedFrom: "city")
        Attribute("points", .int, default: .int(0), renamedFrom: "wins")
        Relationship(
            "squad", to: "Person", inverse: "club", toMany: true, deleteRule: .cascade,
            renamedFrom: "players")
    }
    Entity(
        "Person", uniqueness: [["card"]], indexes: [["remark"], ["goals"], ["club"]],
        renamedFrom: "Player"
    ) {
        Attribute("card", .string, renamedFrom: "pass")
        Attribute("remark", .string, renamedFrom: "note")
        Attribute("goals", .int, default: .int(0))
        Attribute("rating", .double)
        Relationship("club", to: "Club", inverse: "squad", renamedFrom: "team")
        Relationship("labels", to: "Tag", inverse: "people", toMany: true, renamedFrom: "tags")
    }
    Entity("Captain", parent: "Person") { Attribute("year", .int, renamedFrom: "since") }
    Entity("Tag") {
        Attribute("label", .string)
        Relationship(
            "people", to: "Person", inverse: "labels", toMany: true, renamedFrom: "players")
    }
}

extension StoreBench {
    /// Returns a store with a team, a captain and a player, both of whom have a tag.
    static func league() throws -> StoreBench {
        let bench = try StoreBench()
        let team = try bench.reference("Team", 1)
        try bench.apply([
            try bench.insert(
                "Team", 1, ["name": .string("A"), "city": .string("Oslo"), "wins": .int(2)]),
            try bench.insert(
                "Captain", 2,
                ["team": .reference(team), "since": .int(1999), "pass": .string("p2")]),
            try bench.insert(
                "Player", 3,
                ["team": .reference(team), "note": .string("n"), "pass": .string("p3")]),
            try bench.insert("Tag", 4, ["label": .string("x")]),
        ])
        let (captain, player) = (
            try bench.reference("Captain", 2), try bench.reference("Player", 3)
        )
        let tag = try bench.reference("Tag", 4)
        try bench.apply([
            try bench.touch("Team", 1, "players", added: [captain, player]),
            try bench.touch("Captain", 2, "tags", added: [tag]),
            try bench.touch("Player", 3, "tags", added: [tag]),
            try bench.touch("Tag", 4, "players", added: [captain, player]),
        ])
        return bench
    }

    /// Migrates to a model, then compares the store with its check and with a rebuilt store.
    func migrate(to model: ManagedObjectModel) throws {
        try install(CompiledModel(model, replacing: try self.model))
        try expectSound()
    }

    func expectSound() throws {
        let report = try store.check()
        #expect(report.isClean, "\(report.findings)")
        #expect(try dumpOfRebuilt() == dump(store))
    }

    func stored(_ entity: String, _ number: UInt64, _ property: String) throws -> PropertyValue {
        let compiled = try self.entity(entity)
        let stored = try #require(try store.stored(try reference(entity, number)))
        return stored.row.uncheckedValue(try #require(compiled.slot(of: property)), in: compiled)
    }
}

@Suite(.ownThread) struct RenameTests {
    @Test func `law 6: attributes, relationships and entities are renamed with their data`()
        throws
    {
        let bench = try StoreBench.league()
        let tags = try ["Team", "Player", "Captain"].map { try bench.entity($0).tag }
        try bench.migrate(to: renamedModel)
        #expect(try ["Club", "Person", "Captain"].map { try bench.entity($0).tag } == tags)
        // An attribute, an indexed attribute and a unique one.
        #expect(try bench.stored("Captain", 2, "year") == .int(1999))
        #expect(try bench.numbers("Club", "town == 'Oslo' AND points == 2") == [1])
        #expect(try bench.indexPlan("Club", "town == 'Oslo'").hasPrefix("index"))
        #expect(try bench.owner("Club", ["title": .string("A")]) == 1)
        #expect(try bench.owner("Person", ["card": .string("p3")]) == 3)
        // To-one, to-many, many-to-many.
        #expect(try bench.stored("Person", 3, "club").reference?.number == 1)
        #expect(try bench.members("Club", 1, "squad") == [2, 3])
        #expect(try bench.members("Tag", 4, "people") == [2, 3])
        #expect(try bench.members("Person", 3, "labels") == [4])
        #expect(try bench.numbers("Person", "ANY labels.label == 'x'") == [2, 3])
        // The renamed properties keep working.
        let captain = try bench.reference("Captain", 2)
        try bench.apply([
            try bench.update("Club", 1, ["title": .string("B")]),
            try bench.touch("Club", 1, "squad", removed: [captain]),
            try bench.update("Captain", 2, ["club": .null, "card": .string("p4")]),
        ])
        #expect(try bench.owner("Club", ["title": .string("A")]) == nil)
        #expect(try bench.owner("Person", ["card": .string("p2")]) == nil)
        try bench.expectSound()
    }

    @Test func `law 6: an applied hint has no further effect, and a name can be used again`() throws
    {
        let bench = try StoreBench.league()
        try bench.migrate(to: renamedModel)
        var next = renamedModel
        next.entities["Club"]?.attributes["name"] = Attribute("name", .string)
        try bench.migrate(to: next)
        #expect(try bench.stored("Club", 1, "title") == .string("A"))
        #expect(try bench.stored("Club", 1, "name") == .null)
        next.entities["Team"] = Entity("Team") { Attribute("x", .int) }
        try bench.migrate(to: next)
        #expect(try bench.entity("Team").tag != bench.entity("Club").tag)
        #expect(try bench.numbers("Team", "TRUEPREDICATE").isEmpty)
    }
}
