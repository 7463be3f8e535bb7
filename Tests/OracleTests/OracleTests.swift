import Foundation
import Tandem
import TandemEmbedded
import TandemIO
import TestSupport
import Testing

/// Tests that the daemon, direct evaluation and SQLite agree on random requests, models and
/// objects.
@MainActor @Suite struct OracleTests {
    private static let seed = TestSeed.value(or: 20_261_122)
    private static let worlds = Volume.variable("TANDEM_WORLDS", or: 3, deep: 6)

    @Test func `the daemon, direct evaluation and SQLite agree`() throws {
        var accesses: Set<String> = []
        var isGroupLeft = false
        for round in 0..<Self.worlds {
            let seed = Self.seed &+ UInt64(round)
            var world = OracleWorld(seed: seed)
            let container = try PersistentContainer.inMemory(model: world.model)
            let context = container.makeContext(name: "oracle")
            try fill(&world, context, count: round % 3 == 2 ? 900 : 150)
            let database = try OracleDatabase()
            try database.fill(with: world)
            for number in 0..<70 {
                let oracleRequest = OracleRequest(&world)
                let request = try oracleRequest.request()
                let what = "seed \(seed) question \(number): \(request)"
                let all = oracleRequest.all(world)
                #expect(
                    try oracleRequest.all(database, world) == all,
                    "SQLite, TANDEM_SEED=\(seed), \(what)"
                )
                let found = try context.fetch(request).map(\.id.number)
                #expect(found == oracleRequest.part(of: all), "\(what)")
                #expect(
                    try context.count(for: request) == oracleRequest.part(of: all).count, "\(what)")
                accesses.formUnion(
                    try container.explain(request).steps.map { $0.access.rawValue })
            }
            for number in 0..<30 {
                let groups = OracleGroups(&world)
                let rows = try groups.rows(context)
                #expect(
                    try groups.rows(database, world) == rows,
                    "seed \(seed) groups \(number): \(groups)")
                isGroupLeft = isGroupLeft || !rows.isEmpty
            }
        }
        #expect(
            accesses.isSuperset(of: ["scan", "index", "related", "unique", "union"]), "\(accesses)")
        #expect(isGroupLeft)
    }

    /// Inserts objects, links them, and changes some of them again.
    private func fill(
        _ world: inout OracleWorld, _ context: ManagedObjectContext, count: Int
    ) throws {
        var held: [UInt64: ManagedObject] = [:]
        for _ in 0..<count {
            let entity = world.entities.randomElement(using: &world.random) ?? "Sub"
            let object = try context.insert(entity)
            let number = object.id.number
            world.objects[number] = OracleWorld.Object(entity: entity)
            held[number] = object
            try change(number, &world, held)
        }
        try context.save()
        let some = held.keys.sorted().shuffled(using: &world.random).prefix(count / 4)
        for number in some { try change(number, &world, held) }
        try context.save()
    }

    private func change(
        _ number: UInt64, _ world: inout OracleWorld, _ held: [UInt64: ManagedObject]
    ) throws {
        guard let object = held[number], let entity = world.objects[number]?.entity else { return }
        let values = world.values(for: number, of: entity)
        for (name, value) in values.sorted(by: { $0.key < $1.key }) {
            world.objects[number]?.values[name] = value
            object[name] = value
        }
        for link in world.links[entity] ?? [] where Bool.random(using: &world.random) {
            let most = link.isToMany ? 3 : 1
            let targets = world.numbers(of: link.target).shuffled(using: &world.random)
                .prefix(Int.random(in: 0...most, using: &world.random)).sorted()
            world.set(link, of: number, to: targets)
            if link.isToMany {
                let wanted = Set(targets.compactMap { held[$0] })
                let now = object.objects(link.name)
                for member in now.subtracting(wanted) { object.remove(member, from: link.name) }
                for member in wanted.subtracting(now) { object.add(member, to: link.name) }
            } else {
                object.setObject(targets.first.flatMap { held[$0] }, for: link.name)
            }
        }
    }
}
