import Testing

/// Power cuts at random moments of real daemons' lives: journal and LMDB together.
@Suite struct CrashImageTests {
    /// Lives that are recorded; each gives its part of the images.
    static let worlds = max(8, imageCount / 250)

    @Test(arguments: 0..<worlds)
    func `laws 1, 3 and 6: every crash image recovers to what was acknowledged`(
        _ number: Int
    ) throws {
        let world = try World(seed: seed &+ UInt64(number), steps: 90)
        let share = max(1, imageCount / Self.worlds)
        var (count, kept) = (0, 0)
        try world.images(share) { image in
            let what = "TANDEM_SEED=\(seed) life \(number), cut at \(image.cut), luck \(image.seed)"
            defer { count += 1 }
            if count % 12 == 5 {
                for problem in try world.violationsAfterCrashedRecovery(image, cuts: 4) {
                    Issue.record("\(what): \(problem)")
                }
            } else {
                for problem in world.violations(image) { Issue.record("\(what): \(problem)") }
            }
            if image.told.position > 0 { kept += 1 }
        }
        #expect(count == share)
        #expect(kept > share / 2, "most images have something to lose")
    }
}
