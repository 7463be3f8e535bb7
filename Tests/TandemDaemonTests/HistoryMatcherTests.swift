import TandemModel
import TandemQuery
import TandemWire
import Testing

@testable import TandemDaemon

/// Histories filtered by changed properties.
@Suite(.ownThread) struct HistoryMatcherTests {
    private func given(
        _ bench: CommitBench, _ properties: [(entity: String, name: String)]
    ) throws -> [UInt64] {
        let observed = try properties.map { property in
            let entity = try bench.entity(property.entity)
            return ObservedProperty(
                entity: entity.tag, slot: try #require(entity.slot(of: property.name)))
        }
        let filter = HistoryMatcher(
            HistoryRequest(from: 1, condition: HistoryCondition(properties: observed)),
            modelPosition: 1)
        return try bench.transactions(from: 2).compactMap {
            try filter.filtered($0.encoded())?.position
        }
    }

    @Test func `a history of properties contains their updates, inserts and deletes`() throws {
        let bench = try CommitBench()
        try bench.save([try bench.insert("Node", 1, ["name": .string("a"), "rank": .int(2)])])
        try bench.save([try bench.insert("Badge", 2, ["text": .string("b")])])
        try bench.save([try bench.update("Node", 1, ["rank": .int(3)])])
        try bench.save([try bench.update("Node", 1, ["name": .string("c")])])
        try bench.save([try bench.update("Badge", 2, ["text": .string("d")])])
        try bench.save([try bench.delete("Node", 1)])
        #expect(try given(bench, [("Node", "rank")]) == [2, 4, 7])
        #expect(try given(bench, [("Node", "name"), ("Node", "rank")]) == [2, 4, 5, 7])
        #expect(try given(bench, [("Badge", "text"), ("Node", "name")]) == [2, 3, 5, 6, 7])
        // The same slot of another entity does not match.
        #expect(try given(bench, [("Leaf", "name")]) == [])
        #expect(try given(bench, [("Tag", "label")]) == [])
    }

    @Test func `transactions without changes are in a history without interests only`()
        throws
    {
        let bench = try CommitBench()
        let encoded = Transaction(position: 7, content: .objects([])).encoded()
        let all = HistoryMatcher(HistoryRequest(from: 1), modelPosition: 1)
        #expect(try all.filtered(encoded)?.position == 7)
        let node = try bench.entity("Node").tag
        let some = HistoryMatcher(HistoryRequest(from: 1, interests: [node]), modelPosition: 1)
        #expect(try some.filtered(encoded) == nil)
    }
}
