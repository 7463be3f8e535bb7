import TandemModel
import TestSupport
import Testing

@testable import TandemDaemon

/// A set of members with fast insertion in ascending order, compared with a plain set.
@Suite(.ownThread) struct MemberSetTests {
    @Test func `a member set has the members of a plain set, by number`() {
        var random = SplitMix64(seed: seed)
        for round in 0..<200 {
            var members = MemberSet()
            var known: Set<ObjectReference> = []
            var number: ObjectNumber = 0
            // In half of these rounds numbers ascend, and half of those remove hardly any.
            for _ in 0..<(round % 3 == 0 ? 200 : 30) {
                number = round % 2 == 0 ? number + random.next() % 3 : random.next() % 40
                let member = ObjectReference(tag: 1, number: number)
                if random.next() % (round % 4 < 2 ? 3 : 50) == 0 {
                    let other = ObjectReference(tag: 1, number: random.next() % (number + 1))
                    let wasThere = known.remove(other) != nil
                    #expect(members.remove(other) == wasThere, "seed \(seed)")
                } else {
                    members.insert(member)
                    known.insert(member)
                }
                #expect(members.contains(member) == known.contains(member), "seed \(seed)")
                #expect(members.count == known.count && members.isEmpty == known.isEmpty)
            }
            #expect(members.inOrder == known.sorted(), "seed \(seed)")
        }
    }
}
