import TestSupport
import TestWorlds
import Testing

/// Every edit of every small list through `tandem bridge`, heard of in four ways.
@Suite(.ownThread) struct BridgeSmallListTests {
    /// A part of the edits of one row, and of two; TANDEM_EXHAUSTIVE plays all of one and more of two.
    @Test
    func `laws 4 and 5: edits of small lists, by own saves, siblings', others', and missed ones`()
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
