import TestSupport
import Testing

/// Regression tests: minimal cases of defects found by crash images.
@Suite(.ownThread) struct FirstLifeTests {
    /// LMDB never syncs the name of its file, so a power cut left the journal next to a new store
    /// of another log.
    @Test func `law 3: a power cut after the first saves leaves a matching store and journal`()
        throws
    {
        var world = try World(seed: seed, in: try Scratch(inMemory: true))
        try world.live(World.Life(steps: 3, isStopped: false))
        try expectNoLoss(world)
    }

    /// A process that finds an existing directory has to sync the directory's name too.
    @Test(arguments: 1...4)
    func `law 3: a kill between creating a directory and syncing its name, then a power cut`(
        _ number: Int
    ) throws {
        var world = try World(seed: seed, in: try Scratch(inMemory: true))
        let life = World.Life(faults: "dirsync,/disk,\(number),kill", steps: 0)
        #expect(try world.live(life).status == .signalled(9))
        try world.live(World.Life(steps: 3, isStopped: false))
        try expectNoLoss(world)
    }

    private func expectNoLoss(_ world: World) throws {
        let (found, reference) = world.violations()
        #expect(found.isEmpty, "TANDEM_SEED=\(seed): \(found)")
        guard let reference else { return }
        try world.imagesOfEnds { image in
            for problem in world.violations(of: image, against: reference) {
                Issue.record("TANDEM_SEED=\(seed): \(problem)")
            }
        }
    }
}
