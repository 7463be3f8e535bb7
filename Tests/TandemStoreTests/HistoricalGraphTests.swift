import TandemModel
import Testing

@testable import TandemStore

/// The graph at an earlier position.
@Suite(.ownThread) struct HistoricalGraphTests {
    @Test func `the past of an object is not that of another entity's object with its number`()
        throws
    {
        let bench = try StoreBench(model: shelfModel)
        try bench.apply([try bench.insert("File", 1, ["size": .int(1)])])
        let past = HistoricalGraph(at: bench.store.appliedPosition)
        let label = try bench.reference("Label", 1)
        #expect(try bench.store.stored(label, past) == nil)
        let change = try bench.update("File", 1, ["size": .int(2)])
        try bench.apply([change])
        past.undo(change, try bench.entity("File"))
        #expect(try bench.store.stored(label, past) == nil)
        #expect(past.net(label) == nil)
        #expect(try past.members([label], of: label, slot: 0, ReadBudget()) == [label])
        let before = try #require(try bench.store.stored(bench.reference("File", 1), past))
        #expect(before.row == (try bench.row("File", ["size": .int(1)])))
    }
}
