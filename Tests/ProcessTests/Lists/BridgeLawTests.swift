import TestSupport
import TestWorlds
import Testing

/// Random models, saves and lists through `tandem bridge`, with saves received in four ways.
@Suite(.ownThread) struct BridgeLawTests {
    @Test(arguments: 0..<Seed.worlds(2, deep: 3))
    func `laws 4 and 5: lists of random shapes after own, siblings', others' and missed saves`(
        _ run: Int
    ) throws {
        var random = SplitMix(Seed.value(run))
        let world = try BridgeWorld(lists: 8, isLimited: run % 3 == 2, &random)
        for round in 0..<Volume.of(16, deep: 40) {
            let problems = try world.round(&random)
            #expect(problems.isEmpty, "TANDEM_SEED=\(Seed.value(run)) round \(round)")
            if !problems.isEmpty { return }
        }
        try world.end()
    }
}
