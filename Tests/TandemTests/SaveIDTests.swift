import Testing

@testable import Tandem

@Suite(.ownThread) struct SaveIDTests {
    @Test func `law 3: no two ids are the same, of one context or of several`() {
        var ids = Set<[UInt8]>()
        for _ in 0..<8 {
            var source = SaveIDs()
            for _ in 0..<500 {
                let id = source.next()
                #expect(id.count <= 64)
                #expect(ids.insert(id).inserted)
            }
        }
    }

    @Test func `the ids of one context ascend, so that they are stored side by side`() {
        var source = SaveIDs()
        var last = source.next()
        for _ in 0..<1_000 {
            let next = source.next()
            #expect(last.lexicographicallyPrecedes(next))
            last = next
        }
    }

    @Test func `law 3: ids stay unique after the numbers are exhausted`() {
        var source = SaveIDs(last: .max - 2)
        let ids = Set((0..<10).map { _ in source.next() })
        #expect(ids.count == 10)
    }
}
