import TandemIO
import TestSupport
import Testing

/// Machines that crash, with a daemon and clients on them: the laws hold in every world.
///
/// Clients send saves, batches, fetches, reads, syncs, leases, and questions for history without a condition, for status and
/// schema; in a third of the worlds verdicts, reads at earlier positions, and pins, too. They never send conditions on history, blobs, and
/// what consumers say; and the journal is trimmed by a step of the world, not by `RetentionPolicy`. So what pins and consumers
/// hold back rests on `PinTests`, `PinLawTests` and `ConsumerTests`, whose disks don't fail.
@Suite(.ownThread) struct WorldTests {
    /// How many worlds the normal suite runs; TANDEM_WORLDS overrides it.
    static let worlds = UInt64(Volume.variable("TANDEM_WORLDS", or: 12, deep: 80))
    /// The seed of the first one; TANDEM_FIRST_WORLD overrides it.
    static let first = ThisProcess.environment("TANDEM_FIRST_WORLD").flatMap { UInt64($0) } ?? 1
    /// One world alone.
    static let seed = TestSeed.given

    static func seeds(_ count: UInt64) -> [UInt64] {
        if let seed { return [seed] }
        return (0..<count).map { $0 + first }
    }

    /// Runs the worlds of some seeds; the first that breaks a law is shrunk, as that takes many runs.
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
        // The worlds have to be worth something.
        #expect(sum.crashes > 10 && sum.trims > 3 && sum.full > 3, "\(sum)")
        #expect(sum.batches > 3 && sum.looks > 20 && sum.jobs > 50, "\(sum)")
    }

    /// Half as many, as each takes longer.
    @Test func `laws 1, 2, 3, 4, 6, 7 and 8 hold under small limits and many restarts`() throws {
        let sum = try run(Self.seeds(max(1, Self.worlds / 2)), isHarsh: true)
        guard Self.seed == nil, Self.worlds >= 20 else { return }
        #expect(sum.crashes > 30 && sum.trims > 10, "\(sum)")
    }

    @Test func `a world is the same twice`() throws {
        for seed in Self.seed.map({ [$0] }) ?? Array(1...Volume.of(2, deep: 6)) {
            let first = try Shrinker.run(World.Plan(seed: seed))
            let second = try Shrinker.run(World.Plan(seed: seed))
            #expect(first.hash == second.hash, "seed \(seed)")
        }
    }
}
