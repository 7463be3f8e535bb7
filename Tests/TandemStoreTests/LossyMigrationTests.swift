import TandemModel
import Testing

@testable import TandemStore

/// Model changes that lose data, or that add rules for stored data.
@Suite(.ownThread) struct LossyMigrationTests {
    private func changed(_ body: (inout ManagedObjectModel) throws -> Void) rethrows
        -> ManagedObjectModel
    {
        var model = leagueModel
        try body(&model)
        return model
    }

    @Test func `law 6: dropped properties are removed with their values, keys and links`() throws {
        let bench = try StoreBench.league()
        let model = changed { model in
            model.entities["Player"]?.attributes["pass"] = nil
            model.entities["Player"]?.attributes["note"] = nil
            model.entities["Player"]?.uniqueness = []
            model.entities["Player"]?.indexes = [["goals"], ["team"]]
            model.entities["Player"]?.relationships["tags"] = nil
            model.entities["Tag"]?.relationships["players"] = nil
        }
        let report = try bench.store.preview(of: CompiledModel(model, replacing: bench.model))
        #expect(report.isPossible && report.rewritten == 4)
        let lost = Dictionary(
            uniqueKeysWithValues: report.items.filter { $0.lost > 0 }.map {
                ("\($0.difference.entity).\($0.difference.property ?? "")", $0.lost)
            })
        #expect(
            lost == ["Player.pass": 2, "Player.note": 1, "Player.tags": 2, "Tag.players": 1])
        #expect(MigrationReport(json: report.json) == report)
        try bench.migrate(to: model)
        #expect(try bench.members("Team", 1, "players") == [2, 3])
        // Properties that are added again have no values.
        try bench.migrate(to: leagueModel)
        #expect(try bench.owner("Player", ["pass": .string("p2")]) == nil)
        #expect(try bench.members("Tag", 4, "players").isEmpty)
        #expect(try bench.numbers("Player", "note == 'n'").isEmpty)
    }

    @Test
    func `law 6: dropped entities are removed with their objects, and no link to them remains`()
        throws
    {
        let bench = try StoreBench.league()
        let captain = changed { $0.entities["Captain"] = nil }
        let report = try bench.store.preview(of: CompiledModel(captain, replacing: bench.model))
        #expect(report.lost == 1 && report.rewritten == 3)
        try bench.migrate(to: captain)
        #expect(try bench.numbers("Player", "TRUEPREDICATE") == [3])
        #expect(try bench.members("Team", 1, "players") == [3])
        #expect(try bench.members("Tag", 4, "players") == [3])
        #expect(try bench.owner("Player", ["pass": .string("p2")]) == nil)
        let team = changed { model in
            model.entities["Captain"] = nil
            model.entities["Team"] = nil
            model.entities["Player"]?.relationships["team"] = nil
            model.entities["Player"]?.indexes = []
        }
        try bench.migrate(to: team)
        #expect(try bench.store.count(of: 0) == 0)
        // Numbers of dropped objects are never used again, but names can be.
        try bench.migrate(to: leagueModel)
        #expect(try bench.numbers("Team", "TRUEPREDICATE").isEmpty)
        #expect(try bench.store.entity(ofNumber: 1) != nil)
    }

    @Test func `a report prints its differences, with what is lost`() throws {
        let bench = try StoreBench.league()
        let captain = changed { $0.entities["Captain"] = nil }
        let report = try bench.store.preview(of: CompiledModel(captain, replacing: bench.model))
        #expect("\(report)".contains("1 object, 1 lost"), "\(report)")
        let same = try bench.store.preview(of: bench.model)
        #expect("\(same)" == "no differences")
    }

    @Test func `violations of different rules of a property are different problems`() throws {
        func model(_ age: Attribute, unique: [[String]] = []) -> ManagedObjectModel {
            var model = ManagedObjectModel {
                Entity("Person") { Attribute("age", .int, optional: true) }
            }
            model.entities["Person"]?.attributes["age"] = age
            model.entities["Person"]?.uniqueness = unique
            return model
        }
        let bench = try StoreBench(model: model(Attribute("age", .int, optional: true)))
        let ages: [PropertyValue] = [.null, .int(99), .int(99)]
        try bench.apply(
            try ages.enumerated().map { try bench.insert("Person", UInt64($0 + 1), ["age": $1]) })
        let next = model(Attribute("age", .int, optional: false, max: 30), unique: [["age"]])
        let report = try bench.store.preview(
            of: try CompiledModel(next, replacing: try bench.model))
        #expect(
            report.problems.map(\.description) == [
                "Person.age: Person/2 has the same values (1 object: Person/3)",
                "Person.age: a value is required (1 object: Person/1)",
                "Person.age: the value is above the maximum of 30 (2 objects: Person/2, Person/3)",
            ])
    }

    @Test func `a store without a model gains every entity`() throws {
        let bench = try StoreBench(model: nil)
        let report = try bench.store.preview(of: CompiledModel(leagueModel))
        #expect(report.items.map(\.difference.entity) == leagueModel.entities.keys.sorted())
        #expect(report.isPossible && report.lost == 0 && report.rewritten == 0)
    }

    @Test func `law 6: links to objects of a dropped subentity become null`() throws {
        let bench = try StoreBench(
            model: ManagedObjectModel {
                Entity("Person", indexes: [["boss"]]) {
                    Relationship("boss", to: "Person", inverse: "staff")
                    Relationship("staff", to: "Person", inverse: "boss", toMany: true)
                    Relationship("twin", to: "Person", inverse: "twin")
                }
                Entity("Manager", parent: "Person")
            })
        let (manager, person) = (
            try bench.reference("Manager", 1), try bench.reference("Person", 2)
        )
        try bench.apply([
            try bench.insert("Manager", 1, ["twin": .reference(person)]),
            try bench.insert(
                "Person", 2, ["boss": .reference(manager), "twin": .reference(manager)]),
            try bench.touch("Manager", 1, "staff", added: [person]),
        ])
        var model = try bench.model.model
        model.entities["Manager"] = nil
        try bench.migrate(to: model)
        #expect(try bench.stored("Person", 2, "boss") == .null)
        #expect(try bench.stored("Person", 2, "twin") == .null)
        #expect(try bench.numbers("Person", "boss == nil") == [2])
        // If the relationship is required, the migration is impossible.
        var required = model
        required.entities["Person"]?.relationships["boss"]?.optional = false
        let report = try bench.store.preview(of: CompiledModel(required, replacing: bench.model))
        #expect(!report.isPossible)
        #expect(report.problems.map(\.property) == ["boss"])
        #expect(report.problems.first?.objects.map(\.description) == ["Person/2"])
    }

    @Test func `law 6: types are converted, and values that can't be are counted`() throws {
        let bench = try StoreBench.league()
        try bench.apply([
            try bench.insert("Team", 5, ["name": .string("12"), "city": .string("7")])
        ])
        let model = changed { model in
            model.entities["Team"]?.attributes["name"]?.type = .int
            model.entities["Team"]?.attributes["city"]?.type = .int
            model.entities["Team"]?.attributes["city"]?.optional = false
            model.entities["Team"]?.attributes["city"]?.defaultValue = .int(-1)
            model.entities["Team"]?.attributes["wins"]?.type = .string
            model.entities["Team"]?.attributes["wins"]?.defaultValue = .string("0")
        }
        let report = try bench.store.preview(of: CompiledModel(model, replacing: bench.model))
        let types = report.items.filter { $0.difference.aspect == .type }
        #expect(types.map(\.objects) == [2, 2, 2] && types.map(\.lost) == [1, 1, 0])
        #expect(report.isPossible)
        try bench.migrate(to: model)
        #expect(try bench.stored("Team", 5, "name") == .int(12))
        #expect(try bench.stored("Team", 1, "name") == .null)
        #expect(try bench.stored("Team", 1, "city") == .int(-1))
        #expect(try bench.stored("Team", 1, "wins") == .string("2"))
        #expect(try bench.numbers("Team", "city == 7") == [5])
        #expect(try bench.owner("Team", ["name": .int(12)]) == 5)
    }

    @Test func `rules are checked against stored objects, and violations are named`() throws {
        let bench = try StoreBench.league()
        try bench.apply(
            try (10..<30).map { try bench.insert("Team", $0, ["city": .string("same")]) })
        let model = changed { model in
            model.entities["Team"]?.uniqueness.append(["city", "wins"])
            model.entities["Team"]?.attributes["wins"]?.minimum = 1
            model.entities["Team"]?.attributes["wins"]?.defaultValue = .int(1)
            model.entities["Team"]?.relationships["players"]?.optional = false
            model.entities["Player"]?.attributes["rating"]?.optional = false
            model.entities["Player"]?.relationships["tags"]?.maximum = 1
        }
        let report = try bench.store.preview(of: CompiledModel(model, replacing: bench.model))
        #expect(!report.isPossible)
        #expect(
            report.problems.map { "\($0.entity).\($0.property) \($0.count)" } == [
                "Captain.rating 1", "Player.rating 1", "Team.city, wins 19", "Team.players 20",
                "Team.wins 20",
            ])
        #expect(report.problems.allSatisfy { $0.objects.count == min(10, $0.count) })
        #expect(
            report.problems[2].description.hasPrefix(
                "Team.city, wins: Team/10 has the same values (19 objects: Team/11, "))
    }

    @Test func `law 6: dropped indexes leave no keys`() throws {
        let bench = try StoreBench.league()
        let without = changed { $0.entities["Team"]?.indexes = [] }
        try bench.migrate(to: without)
        #expect(try !content(bench.store, bench.store.tables.indexes).isEmpty)
        try bench.apply([try bench.update("Team", 1, ["city": .string("Rome")])])
        try bench.migrate(to: leagueModel)
        #expect(try bench.numbers("Team", "city == 'Oslo'").isEmpty)
        #expect(try bench.numbers("Team", "city == 'Rome'") == [1])
    }

    @Test func `law 6: contents outside rows are counted again`() throws {
        let bench = try StoreBench(
            model: ManagedObjectModel {
                Entity("Note") {
                    Attribute("text", .string)
                    Attribute("image", .data)
                }
            })
        let long = PropertyValue.string(String(repeating: "x", count: 70_000)).inRow
        let data = PropertyValue.data([UInt8](repeating: 7, count: 70_000))
        let blobs = [
            Blob([UInt8](String(repeating: "x", count: 70_000).utf8)),
            Blob([UInt8](repeating: 7, count: 70_000)),
        ]
        try bench.apply(
            Transaction(
                content: .objects([
                    try bench.insert("Note", 1, ["text": long, "image": data.inRow]),
                    try bench.insert("Note", 2, ["text": long]),
                ]), blobs: blobs))
        var model = try bench.model.model
        model.entities["Note"]?.attributes["image"] = nil
        try bench.migrate(to: model)
        #expect(try dump(bench.store).count { $0.hasPrefix("blob") } == 1)
        model.entities["Note"]?.attributes["text"]?.type = .int
        let report = try bench.store.preview(of: CompiledModel(model, replacing: bench.model))
        #expect(report.lost == 2)
        try bench.migrate(to: model)
        #expect(try dump(bench.store).count { $0.hasPrefix("blob") } == 0)
    }

    @Test func `rows are migrated in steps, whatever their number`() throws {
        let bench = try StoreBench()
        let count = UInt64(StoreLimits.migrationStep * 2 + 3)
        for first in stride(from: 1, through: count, by: 1_000) {
            try bench.apply(
                try (first..<min(first + 1_000, count + 1)).map {
                    try bench.insert("Team", $0, ["name": .string("\($0)"), "wins": .int(1)])
                })
        }
        let model = changed { model in
            model.entities["Team"]?.attributes["extra"] = Attribute("extra", .int, default: .int(9))
            model.entities["Team"]?.indexes = []
        }
        try bench.migrate(to: model)
        #expect(try bench.numbers("Team", "extra == 9 AND wins == 1").count == Int(count))
    }
}
