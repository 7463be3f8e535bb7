import TandemModel
import TandemQuery
import Testing

@testable import TandemStore

@Suite(.ownThread) struct ApplyTests {
    @Test func `inserts, updates and deletes are visible at once with their version`() throws {
        let bench = try StoreBench()
        try bench.apply([try bench.insert("Team", 1, ["name": .string("A"), "wins": .int(3)])])
        let team = try bench.reference("Team", 1)
        #expect(try bench.store.stored(team)?.version == 2)
        try bench.apply([try bench.update("Team", 1, ["wins": .int(4)])])
        let stored = try #require(try bench.store.stored(team))
        #expect(stored.version == 3)
        let entity = try bench.entity("Team")
        #expect(
            stored.row.uncheckedValue(try #require(entity.slot(of: "wins")), in: entity) == .int(4))
        try bench.apply([try bench.delete("Team", 1)])
        #expect(try bench.store.stored(team) == nil)
        #expect(try bench.store.entity(ofNumber: 1) == team.tag)
        #expect(try bench.store.isEmpty)
        #expect(try content(bench.store, bench.store.tables.indexes).isEmpty)
        #expect(try content(bench.store, bench.store.tables.unique).isEmpty)
    }

    @Test func `a touch changes links and no version`() throws {
        let bench = try StoreBench()
        try bench.apply([
            try bench.insert("Player", 1, [:]), try bench.insert("Tag", 2, [:]),
        ])
        let (player, tag) = (try bench.reference("Player", 1), try bench.reference("Tag", 2))
        try bench.apply([
            try bench.touch("Player", 1, "tags", added: [tag]),
            try bench.touch("Tag", 2, "players", added: [player]),
        ])
        #expect(try bench.members("Player", 1, "tags") == [2])
        #expect(try bench.members("Tag", 2, "players") == [1])
        #expect(try bench.store.stored(player)?.version == 2)
        let tags = try #require(try bench.entity("Player").property(named: "tags")?.relationship)
        #expect(try bench.store.isMember(2, of: 1, tags))
        try bench.apply([
            try bench.touch("Player", 1, "tags", removed: [tag]),
            try bench.touch("Tag", 2, "players", removed: [player]),
        ])
        #expect(try bench.members("Player", 1, "tags").isEmpty)
        #expect(try bench.members("Tag", 2, "players").isEmpty)
    }

    @Test func `transactions out of order are refused and change nothing`() throws {
        let bench = try StoreBench()
        let before = try dump(bench.store)
        let change = try bench.insert("Team", 1, [:])
        for position: UInt64 in [0, 1, 3] {
            #expect(throws: StoreError.self) {
                try bench.store.apply(
                    Transaction(position: position, content: .objects([change])))
            }
        }
        #expect(try dump(bench.store) == before)
    }

    @Test func `a change that does not fit the model is damage, never a trap`() throws {
        let bench = try StoreBench()
        let unknown = ObjectReference(tag: 999, number: 1)
        let team = try bench.reference("Team", 1)
        let short = Row(bytes: [1, 0, UInt8(team.tag & 0xff), 0])
        for change in [
            Change(.touch, unknown, changed: PropertyMask()),
            Change(.insert, team, changed: PropertyMask(), row: short),
            Change(.touch, team, changed: PropertyMask([100])),
            try bench.insert("Team", .max, [:]),
            Change(
                .touch, team, changed: PropertyMask(),
                links: [LinkChange(slot: 99, target: team, isAdded: true)]),
        ] {
            let error = #expect(throws: StoreError.self) {
                try bench.apply([change])
            }
            #expect(error?.code == .damaged)
            try bench.store.revert()
            try bench.install(CompiledModel(leagueModel))
        }
    }

    @Test func `unique values swap within one transaction`() throws {
        let bench = try StoreBench()
        try bench.apply([
            try bench.insert("Team", 1, ["name": .string("x")]),
            try bench.insert("Team", 2, ["name": .string("y")]),
        ])
        try bench.apply([
            try bench.update("Team", 1, ["name": .string("y")]),
            try bench.update("Team", 2, ["name": .string("x")]),
        ])
        #expect(try bench.owner("Team", ["name": .string("x")]) == 2)
        #expect(try bench.owner("Team", ["name": .string("y")]) == 1)
        // A value freed by a deletion moves to another object in the same transaction, in either
        // order.
        try bench.apply([
            try bench.delete("Team", 1), try bench.insert("Team", 3, ["name": .string("y")]),
        ])
        try bench.apply([
            try bench.update("Team", 2, ["name": .string("y")]),
            try bench.delete("Team", 3),
        ])
        #expect(try bench.owner("Team", ["name": .string("y")]) == 2)
        #expect(try bench.owner("Team", ["name": .string("x")]) == nil)
        #expect(try content(bench.store, bench.store.tables.unique).count == 1)
    }

    @Test func `a unique hash is verified against the row`() throws {
        let bench = try StoreBench()
        try bench.apply([try bench.insert("Team", 1, ["name": .string("x")])])
        // Simulates a hash collision: the key of "y" refers to an object whose name is "x".
        let entity = try bench.entity("Team")
        let index = try #require(entity.uniqueness.first)
        let row = try bench.row("Team", ["name": .string("y")])
        let key = try #require(StoreKey.unique(index, row, entity))
        let value = StoreKey.tag(entity.tag) + StoreKey.number(1)
        try bench.store.current.put(bench.store.tables.unique, key, value)
        #expect(try bench.owner("Team", ["name": .string("y")]) == nil)
        #expect(try bench.owner("Team", ["name": .string("x")]) == 1)
        #expect(try bench.numbers("Team", "name == %@", [.string("y")]).isEmpty)
    }

    @Test func `nil equals nothing in a uniqueness constraint`() throws {
        let bench = try StoreBench()
        try bench.apply([try bench.insert("Team", 1, [:]), try bench.insert("Team", 2, [:])])
        #expect(try bench.owner("Team", [:]) == nil)
        #expect(try content(bench.store, bench.store.tables.unique).isEmpty)
    }

    @Test func `texts of ten KiB are indexed and unique`() throws {
        let bench = try StoreBench()
        let long = String(repeating: "lång", count: 2_048)
        let texts = ["a", "b", ""].map { long + $0 }
        for (index, text) in texts.enumerated() {
            let values: [String: PropertyValue] = ["note": .string(text), "pass": .string(text)]
            try bench.apply([try bench.insert("Player", UInt64(index) + 1, values)])
        }
        for (index, text) in texts.enumerated() {
            let number = UInt64(index) + 1
            #expect(try bench.numbers("Player", "note == %@", [.string(text)]) == [number])
            #expect(try bench.numbers("Player", "pass == %@", [.string(text)]) == [number])
            #expect(try bench.owner("Player", ["pass": .string(text)]) == number)
        }
        #expect(try bench.numbers("Player", "note BEGINSWITH %@", [.string(long)]) == [1, 2, 3])
        #expect(try bench.numbers("Player", "note > %@", [.string(texts[2])]) == [1, 2])
        #expect(try bench.numbers("Player", "note >= %@", [.string(texts[1])]) == [2])
        try bench.apply([try bench.update("Player", 2, ["note": .string(texts[0])])])
        #expect(try bench.numbers("Player", "note == %@", [.string(texts[0])]) == [1, 2])
        try bench.apply([1, 2, 3].map { try bench.delete("Player", $0) })
        #expect(try content(bench.store, bench.store.tables.indexes).isEmpty)
        #expect(try content(bench.store, bench.store.tables.unique).isEmpty)
    }

    @Test func `texts that agree in the first 480 bytes are distinguished`() throws {
        let bench = try StoreBench()
        let stem = String(repeating: "x", count: 480)
        for (number, tail) in [(UInt64(1), "b"), (2, "a"), (3, "")] {
            let values: [String: PropertyValue] = [
                "note": .string(stem + tail), "pass": .string(stem + tail),
            ]
            try bench.apply([try bench.insert("Player", number, values)])
        }
        #expect(try bench.numbers("Player", "note == %@", [.string(stem + "a")]) == [2])
        #expect(try bench.numbers("Player", "note < %@", [.string(stem + "b")]) == [2, 3])
        #expect(try bench.owner("Player", ["pass": .string(stem + "b")]) == 1)
        let sorted = try bench.fetch(
            FetchDescriptor(entity: "Player", sort: [SortComponent("note")]))
        #expect(sorted.objects.map(\.object.number) == [3, 2, 1])
        try bench.apply([try bench.update("Player", 2, ["note": .string(stem + "c")])])
        #expect(try bench.numbers("Player", "note > %@", [.string(stem + "b")]) == [2])
        #expect(try bench.numbers("Player", "note == %@", [.string(stem + "a")]).isEmpty)
    }
}
