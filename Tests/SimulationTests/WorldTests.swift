import TandemIO
import Testing

@Suite struct WorldTests {
    /// How many worlds the normal suite runs; TANDEM_WORLDS overrides it.
    static let worlds = ThisProcess.environment("TANDEM_WORLDS").flatMap { UInt64($0) } ?? 80
    /// One world alone.
    static let seed = ThisProcess.environment("TANDEM_SEED").flatMap { UInt64($0) }

    /// The seeds, dealt to a few tests so that they run side by side.
    static func seeds(_ hand: UInt64, of hands: UInt64) -> [UInt64] {
        if let seed { return hand == 0 ? [seed] : [] }
        return (0..<worlds).filter { $0 % hands == hand }.map { $0 + 1 }
    }

    @Test(arguments: UInt64(0)..<4)
    func `laws 1, 2, 3, 6 and 8 hold in every world`(hand: UInt64) throws {
        var sum = WorldCounters()
        var failures = 0
        for seed in Self.seeds(hand, of: 4) {
            let plan = World.Plan(seed: seed)
            let outcome = try Shrinker.run(plan)
            sum += outcome.counters
            guard let violation = outcome.violation else { continue }
            // Shrinking takes many runs: once is enough.
            let text =
                failures == 0 || Self.seed != nil
                ? try Shrinker.report(plan, violation) : "seed \(seed): \(violation)"
            failures += 1
            Issue.record("\(text)")
        }
        if ThisProcess.environment("TANDEM_WORLDS") != nil { print("hand \(hand): \(sum)") }
        guard Self.seed == nil, Self.worlds >= 40 else { return }
        // The worlds have to be worth something.
        #expect(sum.crashes > 10 && sum.trims > 3 && sum.full > 3, "\(sum)")
        #expect(sum.batches > 3, "\(sum)")
    }

    @Test func `a world is the same twice`() throws {
        for seed in Self.seed.map({ [$0] }) ?? [1, 2, 3, 4, 5, 6] {
            let first = try Shrinker.run(World.Plan(seed: seed))
            let second = try Shrinker.run(World.Plan(seed: seed))
            #expect(first.hash == second.hash, "seed \(seed)")
        }
    }
}
