import TandemModel
import TandemStore
import TandemWire
import Testing

@testable import TandemDaemon

/// Uniqueness over several properties, one of them a relationship.
@Suite(.ownThread) struct CompoundUniquenessTests {
    private let model = ManagedObjectModel {
        Entity("Team") { Relationship("players", to: "Player", inverse: "team", toMany: true) }
        Entity("Player", uniqueness: [["team", "shirt"], ["first", "last"]]) {
            Attribute("shirt", .int)
            Attribute("first", .string)
            Attribute("last", .string)
            Relationship("team", to: "Team", inverse: "players")
        }
        Entity("Keeper", parent: "Player")
    }

    /// Returns a bench with two teams, and a player with shirt 1 in the first.
    private func bench() throws -> CommitBench {
        let bench = try CommitBench(model: model)
        try bench.save([
            try bench.insert("Team", 1), try bench.insert("Team", 2),
            try bench.insert(
                "Player", 3,
                [
                    "team": .reference(try bench.reference("Team", 1)), "shirt": .int(1),
                    "first": .string("ab"), "last": .string("c"),
                ]),
        ])
        return bench
    }

    private func expectSound(_ bench: CommitBench) throws {
        let report = try bench.store.check()
        #expect(report.isClean, "\(report.findings)")
        let before = try dump(bench.store)
        try bench.rebuild()
        #expect(try dump(bench.store) == before)
    }

    @Test func `tuples must differ as a whole, in subentities too, and nil equals no value`() throws
    {
        let bench = try bench()
        let (one, two) = (
            PropertyValue.reference(try bench.reference("Team", 1)),
            PropertyValue.reference(try bench.reference("Team", 2))
        )
        for entity in ["Player", "Keeper"] {
            let error = try bench.refusal([
                try bench.insert(entity, 9, ["team": one, "shirt": .int(1)])
            ])
            #expect(error?.code == .uniqueness)
        }
        try bench.save([
            try bench.insert("Player", 4, ["team": one, "shirt": .int(2)]),
            try bench.insert("Keeper", 5, ["team": two, "shirt": .int(1)]),
            // With a missing value, a tuple may occur any number of times.
            try bench.insert("Player", 6, ["team": one]),
            try bench.insert("Player", 7, ["team": one]),
            try bench.insert("Player", 8, ["shirt": .int(1)]),
            // The same letters, divided differently.
            try bench.insert("Player", 9, ["first": .string("a"), "last": .string("bc")]),
        ])
        #expect(
            try bench.refusal([try bench.update("Player", 4, ["shirt": .int(1)])])?.code
                == .uniqueness)
        #expect(
            try bench.refusal([try bench.update("Player", 8, ["team": two])])?.code == .uniqueness)
        try expectSound(bench)
    }

    @Test func `law 6: a tuple is free again if any of its values changes`() throws {
        let bench = try bench()
        let (one, two) = (
            PropertyValue.reference(try bench.reference("Team", 1)),
            PropertyValue.reference(try bench.reference("Team", 2))
        )
        try bench.save([
            try bench.update("Player", 3, ["team": two]),
            try bench.insert("Player", 4, ["team": one, "shirt": .int(1)]),
        ])
        // Two players swap their tuples.
        try bench.save([
            try bench.update("Player", 3, ["team": one]),
            try bench.update("Player", 4, ["team": two]),
        ])
        // The team is deleted, and with it the tuple's value.
        try bench.save([try bench.delete("Team", 1)])
        #expect(try bench.value("Player", 3, "team") == .null)
        try bench.save([
            try bench.insert("Team", 10),
            try bench.insert("Player", 11, ["shirt": .int(1), "first": .string("ab")]),
        ])
        try bench.save([try bench.delete("Player", 4)])
        try bench.save([try bench.insert("Player", 12, ["team": two, "shirt": .int(1)])])
        try expectSound(bench)
    }

    @Test func `duplicates within one save are refused, and policies merge them into one`() throws {
        let bench = try bench()
        let two = PropertyValue.reference(try bench.reference("Team", 2))
        let twins = try [4, 5].map {
            try bench.insert("Player", $0, ["team": two, "shirt": .int(7)])
        }
        #expect(try bench.refusal(twins)?.code == .uniqueness)
        let one = PropertyValue.reference(try bench.reference("Team", 1))
        let saved = try bench.save(
            [
                try bench.insert(
                    "Player", 6, ["team": one, "shirt": .int(1), "last": .string("new")])
            ], policy: .objectTrump)
        #expect(saved.inserted.map { $0?.number } == [3])
        #expect(try bench.value("Player", 3, "last") == .string("new"))
        #expect(try !bench.exists("Player", 6))
        try expectSound(bench)
    }
}
