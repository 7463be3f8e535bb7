import TestSupport
import Testing

@testable import TandemStore

@Suite(.ownThread) struct RunMergeTests {
    @Test func `runs become one in order, whatever the steps and when they come`() {
        var random = SplitMix64(seed: seed)
        for _ in 0..<200 {
            var merge = RunMerge<Int>(by: <)
            var all: [Int] = []
            for _ in 0..<Int.random(in: 0...9, using: &random) {
                let run = (0..<Int.random(in: 0...40, using: &random)).map { _ in
                    Int.random(in: 0...100, using: &random)
                }
                merge.add(run.sorted())
                all += run
                var budget = Int.random(in: 0...3, using: &random)
                _ = merge.step(&budget)
            }
            var steps = 0
            var isDone = false
            while !isDone {
                var budget = 1
                isDone = merge.step(&budget)
                steps += 1
            }
            #expect(merge.whole == all.sorted(), "seed \(seed)")
            #expect(steps <= 2 + all.count * 4)
        }
    }
}
