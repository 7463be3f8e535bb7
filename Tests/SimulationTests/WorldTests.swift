import TandemIO
import TestSupport
import Testing

/// Machines that crash, with a daemon and clients on them: the laws hold in every world.
///
/// Clients send saves, batches, fetches, reads, syncs, leases, and requests for history without a
/// condition, for status and schema. In a third of the worlds they also send verdict requests,
/// reads at earlier positions, and pins. They never send conditions on history, blob requests, or a
/// consumer's messages. The journal is trimmed by a step of the world, not by `RetentionPolicy`. So
/// retention for pins and consumers is covered by `PinTests`, `PinLawTests` and `ConsumerTests`,
/// whose disks don't fail.
@Suite(.ownThread) struct WorldTests {
    /// The number of worlds in the normal suite; TANDEM_WORLDS overrides it.
    static let worlds = UInt64(Volume.variable("TANDEM_WORLDS", or: 12, deep: 80))
    /// The seed of the first world; TANDEM_FIRST_WORLD overrides it.
    static let first = ThisProcess.environment("TANDEM_FIRST_WORLD").flatMap { UInt64($0) } ?? 1
    /// The seed of the only world to run, if given.
    static let seed = TestSeed.given

    static func seeds(_ count: UInt64) -> [UInt64] {
        if let seed { return [seed] }
        return (0..<count).map { $0 + first }
    }

    /// Runs the worlds of some seeds.
    ///
    /// Only the first one that breaks a law is shrunk, as that takes many runs.
    private func run(_ seeds: [UInt64], isHarsh: Bool) throws -> WorldCounters {
        var sum = WorldCounters()
        var failures = 0
        for seed in seeds {
            let plan = World.Plan(seed: seed, isHarsh: isHarsh)
            let outcome = try Shrinker.run(plan)
            sum += outcome.counters
            guard let violation = outcome.violation else { continue }
            let text =
                failures == 0 || Self.seed != nil
                ? try Shrinker.report(plan, violation) : "seed \(seed): \(violation)"
            failures += 1
            Issue.record("\(text)")
        }
        if ThisProcess.environment("TANDEM_WORLDS") != nil { print("\(sum)") }
        return sum
    }

    @Test func `laws 1, 2, 3, 4, 6, 7 and 8 hold in every world`() throws {
        let sum = try run(Self.seeds(Self.worlds), isHarsh: false)
        guard Self.seed == nil, Self.worlds >= 20 else { return }
        // The worlds must have reached the interesting states often enough.
        #expect(sum.crashes > 10 && sum.trims > 3 && sum.full > 3, "\(sum)")
        #expect(sum.batches > 3 && sum.pastAnswerCount > 20 && sum.jobs > 50, "\(sum)")
        #expect(sum.interruptions > 50, "\(sum)")
    }

    /// Half as many worlds, as each takes longer.
    @Test func `laws 1, 2, 3, 4, 6, 7 and 8 hold under small limits and many restarts`() throws {
        let sum = try run(Self.seeds(max(1, Self.worlds / 2)), isHarsh: true)
        guard Self.seed == nil, Self.worlds >= 20 else { return }
        #expect(sum.crashes > 30 && sum.trims > 10, "\(sum)")
    }

    @Test func `the same seed runs the same world twice`() throws {
        for seed in Self.seed.map({ [$0] }) ?? Array(1...Volume.of(2, deep: 6)) {
            let first = try Shrinker.run(World.Plan(seed: seed))
            let second = try Shrinker.run(World.Plan(seed: seed))
            #expect(first.hash == second.hash, "seed \(seed)")
        }
    }
}
