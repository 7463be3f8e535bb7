import TestSupport
import Testing

/// The shrunk cases of what the images found.
@Suite(.ownThread) struct FirstLifeTests {
    /// LMDB never syncs the name of its file: the journal then stood beside a new store of another log.
    @Test func `law 3: a power cut after the first saves leaves store and journal together`()
        throws
    {
        var world = try World(seed: seed, in: try Scratch(inMemory: true))
        try world.live(World.Life(steps: 3, isStopped: false))
        try expectNoLoss(world)
    }

    /// Who finds a directory has to sync its name too.
    @Test(arguments: 1...4)
    func `law 3: a kill between making a directory and syncing its name, then a power cut`(
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
