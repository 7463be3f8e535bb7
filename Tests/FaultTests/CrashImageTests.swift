import TestSupport
import Testing

/// Power cuts at random moments in the life of a real daemon, affecting journal and LMDB together.
@Suite(.ownThread) struct CrashImageTests {
    /// The number of recorded stores, which share the images evenly.
    static let worlds = max(4, imageCount / 125)

    @Test(arguments: 0..<worlds)
    func `laws 1, 3 and 6: every crash image recovers to what was acknowledged`(
        _ number: Int
    ) throws {
        var world = try World(seed: seed &+ UInt64(number), in: try Scratch(inMemory: true))
        // Some stores have earlier lives whose writes are still in the page cache.
        for _ in 0..<number % 3 {
            try world.live(World.Life(steps: Volume.of(8, deep: 15), isStopped: false))
        }
        try world.live(World.Life(steps: Volume.of(40, deep: 75), isStopped: number % 2 == 0))
        let (found, reference) = world.violations()
        #expect(found.isEmpty, "TANDEM_SEED=\(seed): \(found)")
        guard let reference else { return }
        var (count, full) = (0, 0)
        try world.images(max(1, imageCount / Self.worlds)) { image in
            // Some recoveries are interrupted by a crash as well.
            let problems =
                count % 12 == 5
                ? try world.violationsAfterCrashedRecovery(of: image, against: reference, cuts: 4)
                : world.violations(of: image, against: reference)
            for problem in problems { Issue.record("TANDEM_SEED=\(seed): \(problem)") }
            count += 1
            if image.disclosed.position > 0 { full += 1 }
        }
        #expect(full > count / 2, "most images have something to lose")
    }

    @Test func `law 3: images of nearly new stores recover too`() throws {
        var world = try World(seed: seed, in: try Scratch(inMemory: true))
        try world.live(World.Life(steps: 0, isStopped: false))
        let (found, reference) = world.violations()
        #expect(found.isEmpty, "TANDEM_SEED=\(seed): \(found)")
        guard let reference else { return }
        for problem in try world.violations(ofImages: imageCount / 8, against: reference) {
            Issue.record("TANDEM_SEED=\(seed): \(problem)")
        }
    }

    @Test(arguments: 0..<max(1, imageCount / 500))
    func `laws 1, 3 and 6: a store works after a power cut, and survives further ones`(
        _ number: Int
    ) throws {
        var random = SplitMix64(seed: seed &+ UInt64(number) &* 77)
        var world = try World(seed: random.next(), in: try Scratch(inMemory: true))
        for generation in 0..<Volume.of(2, deep: 4) {
            try world.live(World.Life(steps: 20, isStopped: Bool.random(using: &random)))
            let (found, reference) = world.violations()
            let what = "TANDEM_SEED=\(seed) chain \(number), generation \(generation)"
            #expect(found.isEmpty, "\(what): \(found)")
            guard let reference else { return }
            let chosen = Int.random(in: 0..<12, using: &random)
            var next: World?
            var count = 0
            try world.images(12) { image in
                if count == chosen { next = try World(after: image, seed: random.next()) }
                count += 1
                for problem in world.violations(of: image, against: reference) {
                    Issue.record("\(what): \(problem)")
                }
            }
            guard let next else { return }
            world = next
        }
    }

    /// With relaxed durability, acknowledged saves may be lost, but only the latest ones, and the
    /// store is never ahead of the journal.
    @Test func `laws 1 and 6: images with relaxed durability are a prefix of the history`() throws {
        var world = try World(seed: seed, in: try Scratch(inMemory: true))
        try world.live(
            World.Life(steps: Volume.of(30, deep: 60), isStopped: false, durability: "relaxed"))
        let (found, reference) = world.violations()
        #expect(found.isEmpty, "TANDEM_SEED=\(seed): \(found)")
        guard let reference else { return }
        try world.images(imageCount / 10) { image in
            let check = ImageCheck(
                store: image.place.store, disclosed: DisclosedState(), reference: reference)
            for problem in check.violations() {
                Issue.record("TANDEM_SEED=\(seed): \(world.name(image)): \(problem)")
            }
        }
    }
}
