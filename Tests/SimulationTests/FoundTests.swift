import Testing

/// What the worlds found, each as the seed that showed it.
@Suite struct FoundTests {
    /// A save names properties by slot and does not say of which model.
    ///
    /// One that is under way while another model is installed is taken for one of that: its values land in other
    /// properties, and it is acknowledged.
    @Test func `law 3: a save made under the model before lands where it was meant to`() {
        withKnownIssue(isIntermittent: true) {
            for seed: UInt64 in [2, 21, 53, 54, 19] {
                let plan = World.Plan(seed: seed, judgesOldModels: true)
                let violation = try Shrinker.run(plan).violation
                #expect(violation == nil, "seed \(seed)")
            }
        }
    }
}
