import TandemModel
import TestWorlds
import Testing

@testable import Tandem

@Suite(.ownThread) struct NumberFilterTests {
    @Test func `no inserted number is reported as absent`() {
        for run in 0..<8 {
            var random = SplitMix(Seed.value(run))
            let numbers = (0..<(1 + random.next(3_000))).map { _ in random.next() }
            var grown = NumberFilter()
            for (index, number) in numbers.enumerated() {
                if grown.isFull {
                    grown = NumberFilter(numbers[...index])
                } else {
                    grown.insert(number)
                }
            }
            let made = NumberFilter(numbers)
            #expect(
                numbers.allSatisfy { grown.mayHold($0) && made.mayHold($0) },
                "TANDEM_SEED=\(Seed.value(run))")
        }
    }

    @Test(arguments: [1, 100, 10_000])
    func `at most one in eight numbers outside a consecutive range is a false positive`(
        count: UInt64
    ) {
        let filter = NumberFilter((1...count).map { $0 })
        let wrong = (count + 1...count + 100_000).count { filter.mayHold($0) }
        #expect(wrong <= 12_500)
    }

    @Test func `an empty filter holds nothing and must be rebuilt for the first number`() {
        let filter = NumberFilter()
        #expect(!filter.mayHold(0) && !filter.mayHold(.max) && filter.isFull)
        #expect(NumberFilter([]).isFull)
    }
}
