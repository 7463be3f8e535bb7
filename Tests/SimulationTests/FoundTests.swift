import TestSupport
import Testing

/// What the worlds found, each as the seed that showed it, when no clients looked back.
@Suite(.ownThread) struct FoundTests {
    /// A save names properties by slot, so it has to say of which model.
    ///
    /// One that was under way while another model was installed was taken for one of that: its values landed in other
    /// properties, and it was acknowledged.
    @Test(arguments: Volume.of([2, 21, 19], deep: [2, 21, 53, 54, 19]) as [UInt64])
    func `law 3: a save made under the model before does not land in other properties`(
        seed: UInt64
    ) throws {
        let violation = try Shrinker.run(World.Plan(seed: seed, looks: false)).violation
        #expect(violation == nil, "seed \(seed)")
    }

    /// A save without effect has no transaction of its own: it may be sent at the position that it is answered with.
    ///
    /// Its answer was forgotten one position before its repeat would have been an unknown outcome, so it was carried out again.
    @Test func `law 3: a save without effect is answered alike until its outcome is unknown`()
        throws
    {
        #expect(try Shrinker.run(World.Plan(seed: 437, looks: false)).violation == nil)
    }

    /// Who needs what was trimmed is told so and starts again; the world took that for a daemon that throws clients out.
    @Test(
        arguments: Volume.of([213, 461, 857], deep: [213, 434, 461, 477, 486, 766, 857]) as [UInt64]
    )
    func `law 2: who needs what is gone is expired and comes back`(seed: UInt64) throws {
        #expect(
            try Shrinker.run(World.Plan(seed: seed, looks: false)).violation == nil, "seed \(seed)")
    }

    /// Fetches in steps of one took more rounds than the world waited for.
    @Test(arguments: [722, 941] as [UInt64])
    func `law 7: many fetches in small steps come to their end`(seed: UInt64) throws {
        #expect(
            try Shrinker.run(World.Plan(seed: seed, looks: false)).violation == nil, "seed \(seed)")
    }

    /// The zeros of a cut were flushed in vain, and the next power cut brought the torn batch back into a sealed segment.
    @Test func `law 3: a torn batch that was cut does not come back`() throws {
        #expect(try Shrinker.run(World.Plan(seed: 2032, looks: false)).violation == nil)
    }

    /// The end of a batch changes nothing, and a history of everything has it all the same.
    @Test(arguments: [2041, 2063] as [UInt64])
    func `law 2: a history without interests is the log itself`(seed: UInt64) throws {
        #expect(
            try Shrinker.run(World.Plan(seed: seed, looks: false)).violation == nil, "seed \(seed)")
    }
}
