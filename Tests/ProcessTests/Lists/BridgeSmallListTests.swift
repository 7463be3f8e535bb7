import TestSupport
import TestWorlds
import Testing

/// Edits of small lists through `tandem bridge`, with saves received in four ways.
@Suite(.ownThread) struct BridgeSmallListTests {
    /// Plays some of the edits of one row and of two rows.
    ///
    /// With `TANDEM_EXHAUSTIVE`, plays all edits of one row and more edits of two.
    @Test
    func `laws 4 and 5: edits of small lists after own, siblings', others' and missed saves`()
        throws
    {
        let seed = Seed.value(0)
        var random = SplitMix(seed)
        var cases = SmallLists.singles().shuffled(using: &random)
        let pairs = SmallLists.pairs(
            every: SmallLists.isExhaustive ? 100 : Volume.of(2_500, deep: 800))
        if !SmallLists.isExhaustive { cases = Array(cases.prefix(Volume.of(120, deep: 360))) }
        let known = KnownCase.all.map { SmallCase($0.rows, $0.edits) }
        let lists = try BridgeSmallLists(random)
        let problems = try lists.problems(known + cases + pairs.shuffled(using: &random))
        #expect(problems.isEmpty, "TANDEM_SEED=\(seed)")
        try lists.end()
    }
}
