import TandemModel
import TestSupport
import Testing

/// The soak's plan, and the detection of errors by its checks.
@Suite(.ownThread) struct SoakJudgeTests {
    @Test func `a plan is determined by its seed, and restarts no daemon in the second half`() {
        let plan = SoakPlan(seed: seed, seconds: 3_600, savers: 3, watchers: 3)
        #expect(plan.steps == SoakPlan(seed: seed, seconds: 3_600, savers: 3, watchers: 3).steps)
        #expect(
            plan.steps != SoakPlan(seed: seed &+ 1, seconds: 3_600, savers: 3, watchers: 3).steps)
        let restarts = plan.steps.filter {
            if case .restart = $0.event { true } else { false }
        }
        #expect(restarts.count > 100)
        #expect(restarts.allSatisfy { $0.at <= plan.milliseconds / 2 })
        // The clients with number 0 live from beginning to end.
        let events = Set(plan.steps.map(\.event))
        #expect(!events.contains(.killSaver(0)) && !events.contains(.killWatcher(0)))
        for event in [SoakPlan.Event.killSaver(2), .killWatcher(1), .stop(watcher: 2), .backup] {
            #expect(events.contains(event))
        }
    }

    private func list() throws -> FoldedList {
        FoldedList(
            try .of(
                #"""
                {"position": 4, "sections": [{"name": "a", "objects": ["T/1", "T/2"]},
                 {"name": "b", "objects": ["T/3"]}]}
                """#))
    }

    @Test func `law 5: a folded list applies a batch as a table does`() throws {
        var list = try list()
        try list.apply(
            .of(
                #"""
                {"position": 5, "sections": [{"type": "delete", "index": 1, "name": "b"},
                 {"type": "insert", "index": 0, "name": "0"}],
                 "objects": [{"type": "delete", "object": "T/1", "from": [0, 0]},
                 {"type": "insert", "object": "T/9", "to": [1, 0]},
                 {"type": "update", "object": "T/2", "from": [0, 1], "to": [1, 1]},
                 {"type": "move", "object": "T/3", "from": [1, 0], "to": [0, 0]}]}
                """#))
        #expect(list.sections.map(\.name) == ["0", "a"])
        #expect(list.sections.map(\.objects) == [["T/3"], ["T/9", "T/2"]])
    }

    @Test(arguments: [
        #"{"position": 4, "objects": []}"#,
        #"{"position": 5, "objects": [{"type": "delete", "object": "T/1", "from": [0, 1]}]}"#,
        #"{"position": 5, "objects": [{"type": "insert", "object": "T/7", "to": [0, 3]}]}"#,
        #"{"position": 5, "objects": [{"type": "delete", "object": "T/3", "from": [1, 0]}]}"#,
        #"{"position": 5, "sections": [{"type": "delete", "index": 1, "name": "b"}]}"#,
        #"{"position": 5, "objects": [{"type": "update", "object": "T/1", "from": [0, 0]}, "#
            + #"{"type": "delete", "object": "T/1", "from": [0, 0]}]}"#,
    ])
    func `law 5: a folded list refuses changes that would crash a table`(event: String) throws {
        var list = try list()
        #expect(throws: FoldedList.Problem.self) { try list.apply(.of(event)) }
    }

    @Test func `laws 2 and 3: the verdict names saves that are lost, doubled or out of order`()
        throws
    {
        let transactions = try Self.transactions(["", "saver0 1", "saver0 2", "saver0 3"])
        var verdict = try SoakVerdict(transactions)
        var record = SoakSaver.Record()
        record.positions = [("saver0 1", 2), ("saver0 2", 3), ("saver0 3", 4)]
        verdict.check(record)
        verdict.check(total: 3)
        let life = WatchedLife(name: "w", from: 1, through: 4, heard: [2, 3, 4])
        verdict.check(life)
        var expired = WatchedLife(name: "w", from: 1, through: 4, heard: [2, 4])
        expired.missed = [3...3]
        verdict.check(expired)
        #expect(verdict.problems.isEmpty)
        for heard: [UInt64] in [[2, 4], [2, 3, 3, 4], [3, 2, 4], [2, 3]] {
            verdict.check(WatchedLife(name: "w", from: 1, through: 4, heard: heard))
        }
        #expect(verdict.problems.count == 4)
        record.positions[2].position = 3
        record.refused = ["saver0 1"]
        verdict.check(record)
        verdict.check(total: 2)
        #expect(verdict.problems.count == 7)
        let doubled = try SoakVerdict(try Self.transactions(["", "saver0 1", "saver0 1"]))
        #expect(doubled.problems.count == 1)
    }

    /// Returns one transaction per save id: the first installs the model, the others insert an item
    /// each.
    private static func transactions(_ ids: [String]) throws -> [EncodedTransaction] {
        let model = try CompiledModel(try ManagedObjectModel(json: .of(SoakGraph.model)))
        var writer = ByteWriter()
        model.encode(into: &writer)
        let item = try #require(model.entity(named: "Item"))
        return ids.enumerated().map { index, id in
            let object = ObjectReference(tag: item.tag, number: UInt64(index))
            let row = Row(item.defaults, of: item, version: model.version)
            let change = Change(.insert, object, changed: PropertyMask(), row: row)
            return EncodedTransaction(
                Transaction(
                    position: UInt64(index + 1), time: 1, principal: Principal(author: "test"),
                    saveID: Array(id.utf8), contentHash: StableHash([]),
                    content: index == 0 ? .model(writer.bytes) : .objects([change])))
        }
    }
}
