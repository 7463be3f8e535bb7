import TestSupport
import Testing

/// Regression tests: seeds of worlds in which defects were found.
///
/// The seeds were recorded before clients read the past or requested verdicts, so `looks` is false.
@Suite(.ownThread) struct RegressionTests {
    /// A save names properties by slot, so it has to name the model of the slots.
    ///
    /// A save in flight during a model change was applied under the new model: its values were
    /// stored in other properties, and it was acknowledged.
    @Test(arguments: Volume.of([2, 21, 19], deep: [2, 21, 53, 54, 19]) as [UInt64])
    func `law 3: a save made under the previous model does not change other properties`(
        seed: UInt64
    ) throws {
        let violation = try Shrinker.run(World.Plan(seed: seed, readsPast: false)).violation
        #expect(violation == nil, "seed \(seed)")
    }

    /// A save without effect has no transaction of its own: it may be sent and answered at the same
    /// position.
    ///
    /// The answer was discarded one position too early, while a repeat was still accepted, so the
    /// save was carried out again.
    @Test func `law 3: a save without effect gets the same answer until its outcome is unknown`()
        throws
    {
        #expect(try Shrinker.run(World.Plan(seed: 437, readsPast: false)).violation == nil)
    }

    /// A client that needs trimmed transactions is expired and starts again.
    ///
    /// The world reported this as a daemon that disconnects clients without reason.
    @Test(
        arguments: Volume.of([213, 461, 857], deep: [213, 434, 461, 477, 486, 766, 857]) as [UInt64]
    )
    func `law 2: a client that needs removed history is expired and restarts`(seed: UInt64) throws {
        #expect(
            try Shrinker.run(World.Plan(seed: seed, readsPast: false)).violation == nil,
            "seed \(seed)")
    }

    /// Fetches with slices of one object took more rounds than the world allowed.
    @Test(arguments: [722, 941] as [UInt64])
    func `law 7: many fetches with small slices complete`(seed: UInt64) throws {
        #expect(
            try Shrinker.run(World.Plan(seed: seed, readsPast: false)).violation == nil,
            "seed \(seed)")
    }

    /// Flushing the zeros over a truncated tail failed, and the next power cut brought the torn
    /// batch back into a sealed segment.
    @Test func `law 3: a torn batch that was cut off does not reappear`() throws {
        #expect(try Shrinker.run(World.Plan(seed: 2032, readsPast: false)).violation == nil)
    }

    /// The end of a batch changes nothing, but a history without interests includes it.
    @Test(arguments: [2041, 2063] as [UInt64])
    func `law 2: a history without interests is the complete log`(seed: UInt64) throws {
        #expect(
            try Shrinker.run(World.Plan(seed: seed, readsPast: false)).violation == nil,
            "seed \(seed)")
    }
}
