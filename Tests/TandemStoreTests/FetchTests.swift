import TandemModel
import TandemQuery
import TestSupport
import Testing

@testable import TandemStore

@Suite(.ownThread) struct FetchTests {
    @Test func `law 6: a random history is rebuilt from its transactions byte for byte`() throws {
        var random = RandomLeague(try StoreBench(), seed: seed)
        for step in 0..<150 {
            try random.step()
            if step % 40 == 20 { try random.bench.store.checkpoint() }
        }
        let expected = try dump(random.bench.store)
        #expect(try random.bench.dumpOfRebuilt() == expected, "seed \(seed)")
        // The same with a crash in the middle: back to the checkpoint, then the tail again.
        try random.bench.reopen()
        try random.bench.replayAll()
        #expect(try dump(random.bench.store) == expected, "seed \(seed)")
    }

    @Test func `after a random history the indexes contain exactly the rows' values`() throws {
        var random = RandomLeague(try StoreBench(), seed: seed &+ 1)
        for _ in 0..<200 { try random.step() }
        let store = random.bench.store
        var indexes: [String] = []
        var unique: [String] = []
        for (number, name) in random.living {
            let entity = try random.bench.entity(name)
            let object = try random.bench.reference(name, number)
            let row = try #require(try store.stored(object)).row
            for index in entity.indexes {
                indexes.append(
                    hex(StoreKey.index(index.id, StoreKey.tuple(index, row, entity), number))
                        + " " + hex(StoreKey.tag(object.tag)))
            }
            for index in entity.uniqueness {
                guard let key = StoreKey.unique(index, row, entity) else { continue }
                unique.append(
                    hex(key) + " " + hex(StoreKey.tag(object.tag) + StoreKey.number(number)))
            }
        }
        #expect(try content(store, store.tables.indexes) == indexes.sorted(), "seed \(seed)")
        #expect(try content(store, store.tables.unique) == unique.sorted(), "seed \(seed)")
    }

    @Test func `every access path finds what a scan finds`() throws {
        var random = RandomLeague(try StoreBench(), seed: seed &+ 2)
        var plans: Set<String> = []
        for round in 0..<40 {
            for _ in 0..<5 { try random.step() }
            for _ in 0..<12 {
                let (entity, format, arguments) = random.question()
                let request = FetchDescriptor(
                    entity: entity,
                    predicate: try ObjectPredicate(format: format, arguments: arguments))
                let found = try random.bench.fetch(request)
                plans.insert(String(found.plan.prefix { $0 != " " }))
                let scanned = try random.scan(request)
                let what = "seed \(seed) round \(round) \(entity): \(format) \(arguments)"
                #expect(found.objects.map(\.object.number) == scanned, "\(what)")
                #expect(found.count == scanned.count, "\(what)")
            }
        }
        #expect(plans == ["scan", "inverse", "unique", "index"])
    }

    @Test func `offset and limit cut the sorted list, ties are sorted by number`() throws {
        let bench = try StoreBench()
        for number in UInt64(1)...9 {
            let wins = PropertyValue.int(Int64(number % 3))
            try bench.apply([try bench.insert("Team", number, ["wins": wins])])
        }
        let sort = [SortComponent("wins", ascending: false)]
        let all = try bench.fetch(FetchDescriptor(entity: "Team", sort: sort))
        #expect(all.objects.map(\.object.number) == [2, 5, 8, 1, 4, 7, 3, 6, 9])
        for (offset, limit) in [(0, 3), (2, 4), (8, 5), (20, 1), (-1, 2), (3, 0), (0, -1)] {
            let part = try bench.fetch(
                FetchDescriptor(entity: "Team", sort: sort, limit: limit, offset: offset))
            let expected = all.objects.dropFirst(max(0, offset)).prefix(max(0, limit))
            #expect(part.objects == StoredObjects(expected))
            #expect(part.count == min(9, max(0, offset) + max(0, limit)))
        }
    }

    private func hex(_ bytes: [UInt8]) -> String { bytes.withUnsafeBytes { StoreKey.hex($0) } }
}

/// Applies random consistent changes to a league, and returns random requests about it.
struct RandomLeague {
    let bench: StoreBench
    private var random: SplitMix64
    private var next: UInt64 = 1
    /// The entity of every existing object.
    private(set) var living: [UInt64: String] = [:]
    private var teamOf: [UInt64: UInt64] = [:]
    private let texts = [
        "", "a", "ab", "abc", "b", "é", "\u{0}", "a\u{0}b", "zz",
        String(repeating: "q", count: 480), String(repeating: "q", count: 481),
        String(repeating: "q", count: 600),
    ]

    init(_ bench: StoreBench, seed: UInt64) {
        self.bench = bench
        random = SplitMix64(seed: seed)
    }

    mutating func step() throws {
        switch Int.random(in: 0..<10, using: &random) {
        case 0..<4: try insert()
        case 4..<8: try update()
        default: try delete()
        }
    }

    private mutating func text() -> PropertyValue {
        Bool.random(using: &random) ? .null : .string(texts.randomElement(using: &random) ?? "")
    }

    private mutating func unique() -> PropertyValue {
        next += 1
        let text = texts.randomElement(using: &random) ?? ""
        return next % 3 == 0 ? .null : .string(text + "\(next)")
    }

    private mutating func number() -> PropertyValue {
        .int(Int64.random(in: -3...3, using: &random))
    }

    private mutating func pick(_ isWanted: (String) -> Bool) -> UInt64? {
        living.filter { isWanted($0.value) }.keys.sorted().randomElement(using: &random)
    }

    private mutating func insert() throws {
        let number = next
        next += UInt64.random(in: 1...3, using: &random)
        let name = ["Team", "Player", "Captain"].randomElement(using: &random) ?? "Team"
        if name == "Team" {
            let values = ["name": unique(), "city": text(), "wins": self.number()]
            try bench.apply([try bench.insert(name, number, values)])
        } else {
            var values = ["pass": unique(), "note": text(), "goals": self.number()]
            var changes: [Change] = []
            let player = try bench.reference(name, number)
            if let team = pick({ $0 == "Team" }) {
                values["team"] = .reference(try bench.reference("Team", team))
                teamOf[number] = team
                changes.append(try bench.touch("Team", team, "players", added: [player]))
            }
            try bench.apply([try bench.insert(name, number, values)] + changes)
        }
        living[number] = name
    }

    private mutating func update() throws {
        guard let number = pick({ _ in true }), let name = living[number] else { return }
        if name == "Team" {
            let values = ["city": text(), "wins": self.number()]
            return try bench.apply([try bench.update(name, number, values)])
        }
        var values = ["note": text(), "goals": self.number()]
        if Bool.random(using: &random) { values["pass"] = unique() }
        next += 1
        var changes: [Change] = []
        let player = try bench.reference(name, number)
        if let team = pick({ $0 == "Team" }), teamOf[number] != team {
            values["team"] = .reference(try bench.reference("Team", team))
            changes.append(try bench.touch("Team", team, "players", added: [player]))
            if let old = teamOf[number] {
                changes.append(try bench.touch("Team", old, "players", removed: [player]))
            }
            teamOf[number] = team
        }
        try bench.apply([try bench.update(name, number, values)] + changes)
    }

    private mutating func delete() throws {
        guard let number = pick({ $0 != "Team" }), let name = living[number] else { return }
        var changes = [try bench.delete(name, number)]
        if let team = teamOf[number] {
            let player = try bench.reference(name, number)
            changes.append(try bench.touch("Team", team, "players", removed: [player]))
        }
        try bench.apply(changes)
        living[number] = nil
        teamOf[number] = nil
    }

    // MARK: Requests

    mutating func question() -> (String, String, [PredicateArgument]) {
        let entity = ["Player", "Captain"].randomElement(using: &random) ?? "Player"
        let text = PredicateArgument.value(.string(texts.randomElement(using: &random) ?? ""))
        let goals = PredicateArgument.value(number())
        let more = PredicateArgument.value(number())
        switch Int.random(in: 0..<11, using: &random) {
        case 0: return (entity, "note == %@", [text])
        case 1: return (entity, "note BEGINSWITH %@", [text])
        case 2: return (entity, "note > %@ AND goals >= %@", [text, goals])
        case 3: return (entity, "note <= %@", [text])
        case 4: return (entity, "goals IN %@", [.list([goals, more])])
        case 5: return (entity, "goals BETWEEN %@", [.list([goals, more])])
        case 6: return (entity, "pass == %@", [pass()])
        case 7: return ("Team", "city == %@ AND wins < %@", [text, goals])
        case 8: return (entity, "rating == nil AND goals != %@", [goals])
        case 9: return (entity, "note == nil", [])
        default:
            guard let team = pick({ $0 == "Team" }) else { return ("Team", "city == nil", []) }
            return (entity, "team == %@", [.object(ObjectID(entity: "Team", number: team))])
        }
    }

    private mutating func pass() -> PredicateArgument {
        guard let number = pick({ $0 != "Team" }), let name = living[number],
            let object = try? bench.reference(name, number),
            let stored = try? bench.store.stored(object), let entity = try? bench.entity(name),
            let slot = entity.slot(of: "pass")
        else { return .value(.string("none")) }
        let value = stored.row.uncheckedValue(slot, in: entity)
        return .value(value.isNull ? .string("none") : value)
    }

    /// Returns the matches, found by evaluating every existing object.
    func scan(_ request: FetchDescriptor) throws -> [UInt64] {
        let compiled = try CompiledRequest(request, in: try bench.model)
        let reader = StoreReader(bench.store)
        return try living.keys.sorted().filter { number in
            let object = try bench.reference(living[number] ?? "", number)
            guard compiled.includes(tag: object.tag),
                let stored = try bench.store.stored(object)
            else { return false }
            return compiled.matches(object, stored.row, reader) == true
        }
    }
}
