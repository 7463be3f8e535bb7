import TandemIO
import TandemModel
import TandemQuery
import TandemStore
import TandemWire
import Testing

@testable import TandemDaemon

/// A question for verdicts that has to look at much is worked off in steps, between which others save.
@Suite(.ownThread) struct VerdictFairnessTests {
    /// A group of so many nodes, in steps of so many reads.
    private func bench(
        _ count: Int, sliceReads: Int, limits given: DaemonLimits = DaemonLimits()
    ) throws -> EngineBench {
        var limits = given
        limits.sliceReads = sliceReads
        limits.leaseNumbers = 1 << 20
        let bench = try EngineBench(limits: limits, engineClock: ManualClock())
        _ = try bench.bench.committer.lease(1 << 20)
        try bench.bench.save([try bench.bench.insert("Group", 1, ["title": .string("g")])])
        let group = Value.reference(try bench.bench.reference("Group", 1))
        for start in stride(from: 2, to: count + 2, by: 1_000) {
            try bench.bench.save(
                try (start..<min(start + 1_000, count + 2)).map {
                    try bench.bench.insert("Node", UInt64($0), ["group": group])
                })
        }
        return bench
    }

    /// A list that depends on the title of a group.
    private func item(_ format: String = "group.title != 'x'") throws -> VerdictItem {
        let predicate = try ObjectPredicate(format: format)
        return VerdictItem(request: FetchRequest(entity: "Node", predicate: predicate))
    }

    /// Renames the group; returns the position before.
    private func rename(_ bench: EngineBench, _ title: String) throws -> UInt64 {
        let from = bench.position.number
        try bench.bench.save([try bench.bench.update("Group", 1, ["title": .string(title)])])
        return from
    }

    @Test func `law 7: saves are answered between the steps of a question for 20,000 verdicts`()
        throws
    {
        let bench = try bench(20_000, sliceReads: 1_000)
        let (asker, saver) = (try bench.client(), try bench.client())
        let from = try rename(bench, "h")
        let question = try asker.send(.verdicts(VerdictRequest(from: from, items: [try item()])))
        var turns = 0
        while asker.received.isEmpty, turns < 1_000 {
            let insert = try bench.bench.insert("Tag", 100_000 + UInt64(turns))
            let id = try saver.send(.save(saver.saveRequest([insert])))
            try bench.turn()
            try saver.read()
            #expect(saver.received.last?.id == id)
            try asker.read()
            // The answer is larger than what a socket takes at once.
            if asker.session.isWaitingToWrite { bench.engine.resume(asker.session) }
            turns += 1
        }
        // Each candidate and its group are two.
        #expect(turns >= 2 * 20_000 / 1_000 && turns < 100)
        guard case .verdicts(let answer) = try asker.answer(question) else {
            Issue.record("no verdicts")
            return
        }
        #expect(answer.position > from + 40 && answer.position <= bench.position.number)
        #expect(answer.items.map(\.count) == [20_000])
        #expect(answer.related.map(\.object.number) == [1])
    }

    @Test func `law 7: however many ask for verdicts, between two batches they get one budget`()
        throws
    {
        let bench = try bench(100, sliceReads: 30)
        let from = try rename(bench, "h")
        let askers = try (0..<8).map { _ in try bench.client() }
        for asker in askers {
            _ = try asker.send(.verdicts(VerdictRequest(from: from, items: [try item()])))
        }
        var turns = 0
        while askers.contains(where: \.received.isEmpty), turns < 1_000 {
            try bench.turn()
            for asker in askers { try asker.read() }
            turns += 1
        }
        // One for those that begin, and one for those that go on.
        #expect(turns >= 8 * 300 / 60 && turns < 1_000)
        #expect(bench.engine.readBytes == 0)
    }

    @Test func `law 7: verdicts that others alter faster than they are given end all the same`()
        throws
    {
        let bench = try bench(200, sliceReads: 10)
        let (asker, saver) = (try bench.client(), try bench.client())
        let from = try rename(bench, "h")
        let id = try asker.send(
            .verdicts(VerdictRequest(from: from, items: [try item("group.title ENDSWITH '0'")])))
        var turns = 0
        while asker.received.isEmpty, turns < 2_000 {
            turns += 1
            let title = Value.string("g\(turns)")
            let update = try bench.bench.update("Group", 1, ["title": title])
            _ = try saver.send(.save(saver.saveRequest([update])))
            try bench.turn()
            try saver.read()
            try asker.read()
        }
        #expect(turns > 60 && turns < 400)
        guard case .verdicts(let answer) = try asker.answer(id) else {
            Issue.record("no verdicts")
            return
        }
        let items = try #require(answer.items.first)
        #expect(answer.position == bench.position.number && items.count == 200)
        #expect(items.allSatisfy { $0.matches == (turns % 10 == 0) })
    }

    @Test func `law 7: what follows for a question in the past is neither much in a step`() throws {
        let bench = try bench(300, sliceReads: 10)
        let client = try bench.client()
        let from = try rename(bench, "h")
        let to = bench.position.number
        try bench.bench.save([try bench.bench.update("Group", 1, ["title": .string("i")])])
        let id = try client.send(
            .verdicts(VerdictRequest(from: from, items: [try item("group.title = 'h'")], at: to)))
        var turns: UInt64 = 0
        while client.received.isEmpty, turns < 1_000 {
            try bench.turn()
            try client.read()
            turns += 1
            // What others do meanwhile is undone.
            let update = try bench.bench.update("Node", 2 + turns, ["group": .null])
            try bench.bench.save([update, try bench.bench.update("Group", 1, ["title": .null])])
        }
        #expect(turns >= 2 * 300 / 20)
        guard case .verdicts(let answer) = try client.answer(id) else {
            Issue.record("no verdicts")
            return
        }
        #expect(answer.position == to && answer.items.first?.count == 300)
        #expect(answer.items[0].count { $0.matches } == 300)
    }

    // MARK: Sessions

    @Test func `law 2: what a client asks behind verdicts is answered behind them`() throws {
        let bench = try bench(50, sliceReads: 5)
        let (asker, other) = (try bench.client(), try bench.client())
        let from = try rename(bench, "h")
        let first = try asker.send(.verdicts(VerdictRequest(from: from, items: [try item()])))
        let second = try asker.send(.read(Read()))
        let third = try asker.send(.verdicts(VerdictRequest(from: from, items: [try item()])))
        let fourth = try asker.send(.fetch(Fetch(request: FetchRequest(entity: "Node"))))
        let elsewhere = try other.send(.read(Read()))
        try bench.turn()
        try other.read()
        #expect(other.received.map(\.id) == [elsewhere])
        for _ in 0..<200 where asker.received.count < 4 {
            try bench.turn()
            try asker.read()
        }
        #expect(asker.received.map(\.id) == [first, second, third, fourth])
    }

    @Test func `law 7: verdicts are forgotten with their connection, and hold nothing then`() throws
    {
        let bench = try bench(50, sliceReads: 5)
        let (gone, asker, saver) = (try bench.client(), try bench.client(), try bench.client())
        let from = try rename(bench, "h")
        let question = ClientMessage.verdicts(VerdictRequest(from: from, items: [try item()]))
        let id = try asker.send(question)
        _ = try gone.send(question)
        for _ in 0..<20 { try bench.turn() }
        #expect(asker.session.read != nil && gone.session.read != nil)
        #expect(bench.engine.readBytes > 0)
        bench.engine.disconnect(gone.session, because: nil)
        #expect(gone.session.read == nil)
        try saver.save([try bench.bench.insert("Tag", 200)])
        guard case .verdicts(let answer) = try asker.answer(id) else {
            Issue.record("no verdicts")
            return
        }
        #expect(answer.items.map(\.count) == [50] && bench.engine.readBytes == 0)
        #expect(answer.position == bench.position.number)
    }

    @Test func `verdicts under way when another model comes are expired`() throws {
        let bench = try bench(50, sliceReads: 5)
        let asker = try bench.client()
        let from = try rename(bench, "h")
        let id = try asker.send(.verdicts(VerdictRequest(from: from, items: [try item()])))
        for _ in 0..<4 { try bench.turn() }
        #expect(asker.session.read != nil)
        var model = graphModel
        model.entities["Spare"] = Entity("Spare")
        try bench.bench.committer.install(model, by: Principal())
        guard case .failure(let error) = try asker.answer(id) else {
            Issue.record("no failure")
            return
        }
        #expect(error.code == .historyExpired && bench.engine.readBytes == 0)
    }
}
