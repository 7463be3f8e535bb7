import Tandem
import TestSupport
import Testing

/// One of the two objects that racers always change together, or the counts of a racer.
final class Lap: ManagedObject, ManagedEntity {
    @Managed("name") var name: String
    @Managed("total") var total: Int
    @Managed("one") var one: Int
    @Managed("two") var two: Int

    static let entity = Entity("Lap", uniqueness: [["name"]]) {
        Attribute("name", .string, default: .string(""))
        Attribute("total", .int, default: .int(0))
        Attribute("one", .int, default: .int(0))
        Attribute("two", .int, default: .int(0))
    }
}

/// A process that repeatedly adds one to the same two objects, as fast as it can.
///
/// It adds to `total`, as the other racer does, and to the property with its own name, which only
/// this racer changes.
struct Racer: Codable, Sendable {
    var socket: String
    var name: String
    var policy: UInt8
    var rounds: Int
    /// The number of reads from the daemon per lost answer; 0 loses none.
    var period: Int
    /// The position at which both racers are ready.
    var start: UInt64

    /// The final counts of one racer, stored as `total` and `one` of the lap with its name.
    struct Tally {
        /// The number of saves that wrote.
        var wrote = 0
        /// The number of saves that were refused or had no effect.
        var lost = 0
    }

    func run() async throws {
        let relay = LossyRelay(socket, period: period)
        let container = PersistentContainer(
            entities: [Lap.self], author: name, transport: relay.transport)
        try await withTaskExecutorPreference(ThreadPerJob()) {
            try await container.withContext(name: "race") { try race($0, container) }
        }
        container.close()
        #expect(period == 0 || relay.losses > 0)
    }

    private func race(_ context: ManagedObjectContext, _ container: PersistentContainer) throws {
        let mine = try context.insert(Lap.self)
        mine.name = name
        try context.save()
        let laps = try context.fetch(Lap.self, where: .text("name IN {'left', 'right'}"))
        try #require(laps.count == 2)
        try container.wait(forNumber: start, timeout: 60)
        var tally = Tally()
        var last: UInt64 = 0
        for _ in 0..<rounds {
            repeat { add(to: laps) } while try !save(context, &tally, &last)
        }
        mine.total = tally.wrote
        mine.one = tally.lost
        try context.save()
    }

    private func add(to laps: [Lap]) {
        for lap in laps {
            lap.total += 1
            if name == "one" { lap.one += 1 } else { lap.two += 1 }
        }
    }

    /// Saves; returns false if the other racer was faster and the save has to be retried.
    private func save(
        _ context: ManagedObjectContext, _ tally: inout Tally, _ last: inout UInt64
    ) throws -> Bool {
        do {
            try context.save(policy: MergePolicy(rawValue: policy))
            #expect(!context.hasChanges)
            let receipt = try #require(context.tools.lastReceipt)
            guard receipt.wrote else {
                tally.lost += 1
                return true
            }
            #expect(receipt.position.number > last)
            last = receipt.position.number
            tally.wrote += 1
            return true
        } catch let error as TandemError {
            guard error.code == .conflict else { throw error }
            #expect(context.details(of: error).count == 2)
            tally.lost += 1
            context.rollback()
            try context.resume()
            return false
        }
    }
}
