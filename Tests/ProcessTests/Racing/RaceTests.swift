import Glibc
import Tandem
import TandemIO
import TandemModel
import TestSupport
import Testing

/// Two processes that change the same two objects at once, under each policy.
///
/// `TANDEM_RACES=10000` makes each process save 10,000 times.
@MainActor @Suite(.serialized) struct RaceTests {
    private static let rounds =
        Volume.variable("TANDEM_RACES", or: 150, deep: 1_000)

    /// The outcome of a race.
    private struct Outcome {
        /// The values of `total`, `one` and `two` after the race, by the names of the laps.
        var laps: [String: [Int]]

        var total: Int { laps["left"]?[0] ?? -1 }
        var own: [Int] { Array(laps["left"]?.dropFirst() ?? []) }
        /// The racers' own counts of effective saves.
        var wrote: [Int] { ["one", "two"].map { laps[$0]?[0] ?? -1 } }
        var lost: [Int] { ["one", "two"].map { laps[$0]?[1] ?? -1 } }
        var all: [Int] { zip(wrote, lost).map { $0 + $1 } }
    }

    /// Runs a race, and checks the rules of every policy: no save is applied in part, forged,
    /// repeated or lost.
    private func race(_ policy: MergePolicy, losing period: Int) async throws -> Outcome {
        let place = try Place()
        let daemon = try place.serve()
        let container = PersistentContainer(entities: [Lap.self], socket: place.socket)
        let start = try await container.withContext { context in
            for name in ["left", "right"] { try context.insert(Lap.self).name = name }
            return try await context.save().number
        }
        func racer(_ name: String) -> Racer {
            Racer(
                socket: place.socket, name: name, policy: policy.rawValue, rounds: Self.rounds,
                period: period, start: start + 2)
        }
        let (first, second) = (racer("one"), racer("two"))
        async let one: Void = Self.run(first)
        async let two: Void = Self.run(second)
        _ = await (one, two)
        let journal = try RaceJournal(container, after: start)
        let outcome = try check(journal, container)
        container.close()
        #expect(daemon.end(SIGTERM) == 0)
        let verdict = try CommandRun("tandem", ["check", "-D", place.store])
        #expect(verdict.code == 0, "\(verdict.output)")
        return outcome
    }

    private nonisolated static func run(_ racer: Racer) async {
        await #expect(processExitsWith: .success) { [racer = racer as Racer] in
            try await racer.run()
        }
    }

    private func check(
        _ journal: RaceJournal, _ container: PersistentContainer
    ) throws -> Outcome {
        #expect(journal.problems.isEmpty, "\(journal.problems.prefix(3))")
        let context = container.makeContext(name: "judge")
        let laps = try context.fetch(Lap.self)
        try #require(laps.count == 4)
        let outcome = Outcome(
            laps: Dictionary(
                uniqueKeysWithValues: laps.map { ($0.name, [$0.total, $0.one, $0.two]) }))
        for name in ["left", "right"] { #expect(outcome.laps[name] == journal.values, "\(name)") }
        #expect(outcome.wrote == ["one", "two"].map { journal.saves[$0, default: 0] })
        return outcome
    }

    @Test(arguments: [0, 41])
    func `law 3: with errors and retries every increment counts once`(
        losing period: Int
    ) async throws {
        let outcome = try await race(.error, losing: period)
        #expect(outcome.total == 2 * Self.rounds)
        #expect(outcome.own == [Self.rounds, Self.rounds])
        #expect(outcome.wrote == [Self.rounds, Self.rounds])
        #expect(outcome.lost.reduce(0, +) > 0, "the racers never conflicted")
    }

    @Test(arguments: [MergePolicy.storeTrump, .objectTrump], [0, 41])
    func `law 3: with merges by property, no change of a property with one writer is lost`(
        policy: MergePolicy, losing period: Int
    ) async throws {
        let outcome = try await race(policy, losing: period)
        #expect(outcome.own == [Self.rounds, Self.rounds])
        #expect(outcome.wrote == [Self.rounds, Self.rounds])
        #expect(outcome.total <= 2 * Self.rounds && outcome.total > 0)
    }

    @Test(arguments: [0, 41])
    func `law 3: a save that is rolled back adds nothing, and every other save adds once`(
        losing period: Int
    ) async throws {
        let outcome = try await race(.rollback, losing: period)
        #expect(outcome.total == outcome.wrote.reduce(0, +))
        #expect(outcome.own == outcome.wrote)
        #expect(outcome.all == [Self.rounds, Self.rounds])
        #expect(outcome.lost.reduce(0, +) > 0, "the racers never conflicted")
    }

    @Test(arguments: [0, 41])
    func `law 3: overwriting saves replace whole objects, one after another`(
        losing period: Int
    ) async throws {
        let outcome = try await race(.overwrite, losing: period)
        #expect(outcome.all == [Self.rounds, Self.rounds])
        #expect(outcome.total <= 2 * Self.rounds && outcome.total > 0)
    }
}
