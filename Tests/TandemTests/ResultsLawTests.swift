import FoundationEssentials
import TandemModel
import TandemQuery
import TandemResults
import Testing

@testable import Tandem

/// Random saves through a real daemon, watched by controllers of many shapes (laws 4 and 5).
@MainActor @Suite(.timeLimit(.minutes(5))) struct ResultsLawTests {
    @Test(arguments: 0..<6)
    func `laws 4 and 5: every list equals a fresh fetch, every change leads to it`(_ run: Int)
        throws
    {
        let seed = Seed.value(run)
        var random = SplitMix(seed)
        let world = try RandomWorld(&random)
        let watched = try world.controllers(count: 10, &random)
        try check(world, watched, rounds: 40, seed, &random)
    }

    @Test(arguments: 0..<4)
    func `laws 4 and 5: windows equal a fresh fetch, however little is held beyond them`(_ run: Int)
        throws
    {
        let seed = Seed.value(run)
        var random = SplitMix(seed)
        let world = try RandomWorld(&random)
        for _ in 0..<10 { try world.save(&random) }
        let watched = try world.controllers(count: 12, isLimited: true, &random)
        try check(world, watched, rounds: 60, seed, &random)
    }

    private func check(
        _ world: RandomWorld, _ watched: [Watch], rounds: Int, _ seed: UInt64,
        _ random: inout SplitMix
    ) throws {
        for round in 0..<rounds {
            let position = try world.save(&random)
            // Now and then several saves are merged as one.
            if random.next(3) == 0 { continue }
            try world.reader.reach(position)
            for watch in watched {
                try watch.check("seed \(seed) round \(round): \(watch.description)")
            }
        }
    }
}

/// Random edits of a part of a result, against the whole result (law 4).
@Suite struct HeldRowsTests {
    @Test(arguments: 0..<20)
    func `law4: what is held of a result up to its edge is what the whole result begins with`(
        _ run: Int
    ) {
        let seed = Seed.value(run)
        var random = SplitMix(seed)
        func row(_ number: Int) -> ResultRow {
            ResultRow(number: UInt64(number), sortKey: [UInt8(random.next(12))])
        }
        var all = HeldRows((1...20).map(row), edge: nil)
        let start = Array(all.rows.prefix(3 + random.next(9)))
        var held = HeldRows(start, edge: start.last)
        for round in 0..<200 {
            let edits = ListEdits(
                removed: [UInt64(1 + random.next(30))], upserted: [row(1 + random.next(30))])
            all.apply(edits)
            held.apply(edits)
            if held.rows.count > 15 { _ = held.trim(to: 5 + random.next(5)) }
            let expected = all.rows.prefix(held.rows.count)
            #expect(held.rows[...] == expected, "seed \(seed) round \(round)")
        }
    }
}

/// The seed of a random test: given by TANDEM_SEED, or fixed by the run.
enum Seed {
    static func value(_ run: Int) -> UInt64 {
        let given = ProcessInfo.processInfo.environment["TANDEM_SEED"].flatMap { UInt64($0) }
        return (given ?? 42) &+ UInt64(run)
    }
}

/// SplitMix64, the same everywhere.
struct SplitMix: RandomNumberGenerator {
    private var state: UInt64

    init(_ seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var z = state
        z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
        return z ^ (z >> 31)
    }

    mutating func next(_ bound: Int) -> Int { Int(next() % UInt64(bound)) }
}

/// A model with every kind of relationship, a writer that does anything, and a reader with controllers.
@MainActor final class RandomWorld {
    let fixture: Fixture
    let writers: [ManagedObjectContext]
    let reader: ManagedObjectContext
    private let containers: [PersistentContainer]

    /// A model of one of many shapes: what the requests name is always there, the rest is up to chance.
    ///
    /// Delete rules, indexes, further attributes (which move the slots of others), the depth of inheritance and
    /// relationships of every kind beside the observed ones.
    static func model(_ random: inout SplitMix) -> Model {
        func rule() -> DeleteRule {
            [DeleteRule.nullify, .nullify, .nullify, .cascade, .noAction][random.next(5)]
        }
        let depth = random.next(3)
        let extras = (0..<random.next(4)).map { Attribute("a\($0)", .string) }
        var model = Model {
            Entity("Owner") {
                Attribute("name", .string)
                extras
                Relationship(
                    "buckets", to: "Bucket", inverse: "owner", toMany: true, deleteRule: rule())
            }
            Entity("Bucket", indexes: random.next(2) == 0 ? [["name"]] : []) {
                Attribute("name", .string)
                Attribute("rank", .int)
                Relationship("owner", to: "Owner", inverse: "buckets", deleteRule: rule())
                Relationship(
                    "contents", to: "Content", inverse: "bucket", toMany: true, deleteRule: rule())
                if random.next(2) == 0 {
                    Relationship("twin", to: "Bucket", inverse: "twin")
                }
            }
            Entity("Content", indexes: random.next(2) == 0 ? [["size"], ["bucket", "name"]] : []) {
                Attribute("name", .string)
                Attribute("size", .int)
                Attribute("isEven", .bool)
                extras
                Relationship("bucket", to: "Bucket", inverse: "contents")
                Relationship("tags", to: "Tag", inverse: "contents", toMany: true)
                if random.next(2) == 0 {
                    Relationship("likes", to: "Content", inverse: "likes", toMany: true)
                }
            }
            for level in 0..<depth {
                Entity("Level\(level)", parent: level == 0 ? "Content" : "Level\(level - 1)") {
                    Attribute("b\(level)", .int)
                }
            }
            Entity("Image", parent: depth == 0 ? "Content" : "Level\(depth - 1)") {
                Attribute("width", .int)
            }
            Entity("Tag") {
                Attribute("name", .string)
                Relationship(
                    "contents", to: "Content", inverse: "tags", toMany: true, deleteRule: rule())
            }
        }
        if random.next(2) == 0 { model.entities["Spare"] = Entity("Spare") }
        return model
    }

    init(_ random: inout SplitMix) throws {
        let model = RandomWorld.model(&random)
        fixture = try Fixture([])
        let daemon = fixture.daemon
        containers = (0..<3).map {
            PersistentContainer(
                model: model, author: "c\($0)", transport: daemon.transport)
        }
        writers = containers.dropFirst().map { $0.makeContext(name: "writer") }
        reader = containers[0].makeContext(name: "reader")
        for _ in 0..<6 { try save(&random) }
    }

    // MARK: Saves

    private static let names = ["a", "b", "c", "Ä", "ä", ""]

    @discardableResult
    func save(_ random: inout SplitMix) throws -> Position {
        let context = writers[random.next(writers.count)]
        for _ in 0..<(1 + random.next(4)) { try edit(context, &random) }
        return try context.save(policy: .objectTrump)
    }

    private func edit(_ context: ManagedObjectContext, _ random: inout SplitMix) throws {
        let entity = ["Owner", "Bucket", "Content", "Content", "Image", "Tag"][random.next(6)]
        let all = try context.fetch(FetchRequest(entity: entity))
        let kind = random.next(10)
        if all.count < 3 || kind < 3 {
            try change(try context.insert(entity), context, &random)
        } else if kind == 3 {
            context.delete(all[random.next(all.count)])
        } else {
            try change(all[random.next(all.count)], context, &random)
        }
    }

    private func change(
        _ object: ManagedObject, _ context: ManagedObjectContext, _ random: inout SplitMix
    ) throws {
        let properties = object.entity.properties
        for _ in 0..<(1 + random.next(3)) {
            let property = properties[random.next(properties.count)]
            guard let relationship = property.relationship else {
                object[property.name] = value(property, &random)
                continue
            }
            let targets = try context.fetch(
                FetchRequest(entity: relationship.declaration.destination))
            guard !targets.isEmpty else { continue }
            let target = targets[random.next(targets.count)]
            guard !object.isDeleted, !target.isDeleted else { continue }
            if !property.isToMany {
                object.setObject(random.next(4) == 0 ? nil : target, for: property.name)
            } else if random.next(3) == 0 {
                object.remove(target, from: property.name)
            } else {
                object.add(target, to: property.name)
            }
        }
    }

    private func value(_ property: CompiledProperty, _ random: inout SplitMix) -> Value {
        if random.next(6) == 0 { return .null }
        switch property.attribute?.type {
        case .int: return .int(Int64(random.next(4)))
        case .bool: return .bool(random.next(2) == 0)
        default: return .string(RandomWorld.names[random.next(RandomWorld.names.count)])
        }
    }

    // MARK: Controllers

    private static let predicates: [String?] = [
        nil, "size > 1", "isEven = TRUE OR name = 'a'", "bucket.name = 'a'",
        "bucket.owner.name IN {'a', 'b'}", "ANY tags.name = 'b'", "tags.@count > 1",
        "SUBQUERY(tags, $t, $t.name = 'a').@count > 0", "NONE tags.name = 'c'",
        "ALL tags.name = 'a'", "bucket = nil", "name CONTAINS[cd] 'a'", "NOT size BETWEEN {1, 2}",
        "ANY bucket.contents.size = 3", "bucket.contents.@count > 2 AND size != nil",
    ]

    private static let orders: [(sort: [String], section: String?)] = [
        (["name"], nil), (["-size", "name"], nil), (["name", "-size"], "name"),
        (["bucket.name", "-size"], "bucket.name"),
        (["-bucket.owner.name", "name"], "bucket.owner.name"),
        (["isEven", "name"], "isEven"), (["bucket.rank", "-name"], nil), (["-size"], "size"),
    ]

    func controllers(
        count: Int, isLimited: Bool = false, _ random: inout SplitMix
    ) throws -> [Watch] {
        try (0..<count).map { _ in
            let order = RandomWorld.orders[random.next(RandomWorld.orders.count)]
            var request = FetchRequest(entity: random.next(5) == 0 ? "Image" : "Content")
            request.includesSubentities = random.next(5) > 0
            let text = RandomWorld.predicates[random.next(RandomWorld.predicates.count)]
            request.predicate = try text.map { try ObjectPredicate(format: $0) }
            request.sort = order.sort.compactMap { SortKey($0) }
            if isLimited || random.next(4) == 0 { request.limit = 1 + random.next(4) }
            if random.next(8) == 0 { request.offset = random.next(3) }
            let refresh = [[], ["bucket.name"], ["tags.name"], ["tags"], ["bucket.owner.name"]]
            return try Watch(
                request, order.section, refresh[random.next(refresh.count)], reader,
                slack: random.next(4))
        }
    }
}
