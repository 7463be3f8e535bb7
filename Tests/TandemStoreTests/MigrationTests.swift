import TandemModel
import TandemQuery
import Testing

@testable import TandemStore

/// The league model with an attribute that sorts before others, an index and a subentity.
private let laterModel = ManagedObjectModel {
    Entity(
        "Team", uniqueness: [["name"]], indexes: [["city"], ["city", "wins"], ["wins"]]
    ) {
        Attribute("arena", .string, default: .string("none"))
        Attribute("name", .string)
        Attribute("city", .string)
        Attribute("wins", .int, default: .int(0))
        Relationship(
            "players", to: "Player", inverse: "team", toMany: true, deleteRule: .cascade)
    }
    Entity("Player", uniqueness: [["pass"]], indexes: [["note"], ["goals"], ["team"]]) {
        Attribute("age", .int)
        Attribute("pass", .string)
        Attribute("note", .string)
        Attribute("goals", .int, default: .int(0))
        Attribute("rating", .double)
        Relationship("team", to: "Team", inverse: "players")
        Relationship("tags", to: "Tag", inverse: "players", toMany: true)
    }
    Entity("Captain", parent: "Player") { Attribute("since", .int) }
    Entity("Tag") {
        Attribute("label", .string)
        Relationship("players", to: "Player", inverse: "tags", toMany: true)
    }
    Entity("Veteran", parent: "Captain") { Attribute("until", .int) }
}

@Suite(.ownThread) struct MigrationTests {
    private func filled() throws -> StoreBench {
        let bench = try StoreBench()
        let team = try bench.reference("Team", 1)
        try bench.apply([
            try bench.insert(
                "Team", 1, ["name": .string("A"), "city": .string("Oslo"), "wins": .int(2)]),
            try bench.insert("Captain", 2, ["team": .reference(team), "since": .int(1999)]),
        ])
        let captain = try bench.reference("Captain", 2)
        try bench.apply([try bench.touch("Team", 1, "players", added: [captain])])
        return bench
    }

    @Test func `an added column rewrites every row and keeps values, links and versions`() throws {
        let bench = try filled()
        try bench.install(CompiledModel(laterModel, replacing: try bench.model))
        let model = try bench.model
        #expect(model.version == 2)
        #expect(bench.store.modelPosition == 4)
        let team = try #require(try bench.store.stored(try bench.reference("Team", 1)))
        let entity = try bench.entity("Team")
        #expect(team.version == 2)
        #expect(team.row.modelVersion == 2)
        #expect(team.row.isValid(for: entity))
        for (name, value) in [
            ("arena", PropertyValue.string("none")), ("name", .string("A")),
            ("city", .string("Oslo")),
            ("wins", .int(2)),
        ] {
            let slot = try #require(entity.slot(of: name))
            #expect(team.row.uncheckedValue(slot, in: entity) == value)
        }
        #expect(try bench.members("Team", 1, "players") == [2])
        #expect(try bench.numbers("Team", "wins == 2") == [1])
        #expect(try bench.indexPlan("Team", "wins == 2").hasPrefix("index"))
        #expect(try bench.numbers("Captain", "since == 1999") == [2])
    }

    @Test func `law 6: a migrated store is rebuilt byte for byte`() throws {
        let bench = try filled()
        try bench.install(CompiledModel(laterModel, replacing: try bench.model))
        try bench.apply([
            try bench.insert("Veteran", 3, ["until": .int(5)]),
            try bench.update("Team", 1, ["arena": .string("Dome")]),
        ])
        #expect(try bench.dumpOfRebuilt() == dump(bench.store))
        let once = try bench.store.stateHash()
        try bench.store.checkpoint()
        try bench.reopen()
        #expect(try bench.store.stateHash() == once)
    }
}
