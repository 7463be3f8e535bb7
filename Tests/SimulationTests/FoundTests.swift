import Testing

/// What the worlds found, each as the seed that showed it.
@Suite struct FoundTests {
    /// A save names properties by slot, so it has to say of which model.
    ///
    /// One that was under way while another model was installed was taken for one of that: its values landed in other
    /// properties, and it was acknowledged.
    @Test(arguments: [2, 21, 53, 54, 19] as [UInt64])
    func `law 3: a save made under the model before does not land in other properties`(
        seed: UInt64
    ) throws {
        let violation = try Shrinker.run(World.Plan(seed: seed)).violation
        #expect(violation == nil, "seed \(seed)")
    }
}
