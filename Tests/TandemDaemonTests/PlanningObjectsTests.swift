import TandemModel
import TestSupport
import Testing

@testable import TandemDaemon

/// The objects of a save, found by number in whatever order they were added.
@Suite(.ownThread) struct PlanningObjectsTests {
    @Test func `a set finds what a dictionary finds, ascending or not`() throws {
        let model = try CompiledModel(graphModel)
        let entity = try #require(model.entities.first)
        var random = SplitMix64(seed: seed)
        for round in 0..<400 {
            var set = PlanningObjects(capacity: 4)
            var known: [ObjectNumber: PlanningObject] = [:]
            // Numbers ascend in half of the rounds, as with most clients; in the others they are
            // random.
            var number: ObjectNumber = 0
            for _ in 0..<(random.next() % 24) {
                number = round % 2 == 0 ? number + 1 + random.next() % 3 : random.next() % 40
                guard known[number] == nil else { continue }
                let object = ObjectReference(tag: entity.tag, number: number)
                let working = PlanningObject(inserting: object, entity: entity, model)
                set.append(working)
                known[number] = working
                for other in 0..<ObjectNumber(50) {
                    #expect(set[other] === known[other], "seed \(seed)")
                }
            }
            #expect(set.inOrder.map(\.object.number) == known.keys.sorted(), "seed \(seed)")
        }
    }
}
