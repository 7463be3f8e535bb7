import TandemIO
import TandemModel
import TandemQuery
import TandemStore
import TandemWire
import Testing

@testable import TandemDaemon

/// Expensive verdict requests, which are run by readers while others save.
@Suite(.ownThread) struct VerdictFairnessTests {
    /// Returns a bench with a group of this many nodes.
    private func bench(_ count: Int) throws -> EngineBench {
        let bench = try EngineBench.ofReaders(engineClock: ManualClock())
        try bench.insertNodes(count, isGrouped: true)
        return bench
    }

    /// Returns a list that depends on the title of a group.
    private func item(_ format: String = "group.title != 'x'") throws -> VerdictItem {
        let predicate = try ObjectPredicate(format: format)
        return VerdictItem(request: FetchDescriptor(entity: "Node", predicate: predicate))
    }

    /// Renames the group; returns the position before that save.
    private func rename(_ bench: EngineBench, _ title: String) throws -> UInt64 {
        let from = bench.position.number
        try bench.bench.save([try bench.bench.update("Group", 1, ["title": .string(title)])])
        return from
    }

    @Test func `law 7: saves are answered while a reader computes 20,000 verdicts`()
        throws
    {
        let bench = try bench(20_000)
        let from = try rename(bench, "h")
        let question = ClientMessage.verdicts(VerdictRequest(from: from, items: [try item()]))
        let (answer, asked) = try bench.holding(question, turns: 40) {
            try bench.bench.insert("Tag", 100_000 + UInt64($0))
        }
        let found = try answer.verdicts
        #expect(found.position == asked && bench.position.number == asked + 40)
        #expect(found.items.map(\.count) == [20_000])
        #expect(found.related.map(\.object.number) == [1])
    }

    @Test func `law 7: however many verdict requests are sent, one job is run between two batches`()
        throws
    {
        let bench = try bench(100)
        let from = try rename(bench, "h")
        let askers = try (0..<8).map { _ in try bench.client() }
        for asker in askers {
            _ = try asker.send(.verdicts(VerdictRequest(from: from, items: [try item()])))
        }
        var (turns, answered) = (0, 0)
        while answered < 8, turns < 1_000 {
            try bench.turn()
            for asker in askers { try asker.read() }
            let now = askers.count { !$0.received.isEmpty }
            #expect(now <= answered + 1)
            answered = now
            turns += 1
        }
        #expect(turns >= 8 && answered == 8)
        #expect(bench.engine.reads.bytes.held == 0)
    }

    @Test func `law 7: verdicts whose data others change faster than they run still end`()
        throws
    {
        let bench = try bench(200)
        let from = try rename(bench, "h0")
        let items = [try item("group.title ENDSWITH '0'")]
        let (answer, asked) = try bench.holding(
            .verdicts(VerdictRequest(from: from, items: items)), turns: 41
        ) { try bench.bench.update("Group", 1, ["title": .string("g\($0 + 1)")]) }
        let found = try answer.verdicts
        let verdicts = try #require(found.items.first)
        #expect(found.position == asked && verdicts.count == 200)
        #expect(verdicts.allSatisfy { $0.matches })
    }

    @Test func `law 4: changes after the position of the verdicts are undone`() throws {
        let bench = try bench(300)
        let from = try rename(bench, "h")
        let to = bench.position.number
        try bench.bench.save([try bench.bench.update("Group", 1, ["title": .string("i")])])
        let request = VerdictRequest(from: from, items: [try item("group.title = 'h'")], at: to)
        let (answer, _) = try bench.holding(.verdicts(request), turns: 30) {
            try bench.bench.update("Node", 2 + UInt64($0), ["group": .null])
        }
        // The same holds for changes before the request.
        let again = try bench.client().ask(.verdicts(request))
        for found in [try answer.verdicts, try again.verdicts] {
            #expect(found.position == to && found.items.first?.count == 300)
            #expect(found.items[0].count { $0.matches } == 300)
        }
    }

    // MARK: Sessions

    @Test func `law 2: a client's request after verdicts is answered after them`() throws {
        let bench = try bench(50)
        let (asker, other) = (try bench.client(), try bench.client())
        let from = try rename(bench, "h")
        let first = try asker.send(.verdicts(VerdictRequest(from: from, items: [try item()])))
        let second = try asker.send(.read(Read()))
        let third = try asker.send(.verdicts(VerdictRequest(from: from, items: [try item()])))
        let fourth = try asker.send(.fetch(Fetch(request: FetchDescriptor(entity: "Node"))))
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

    @Test func `law 7: verdict requests are dropped with their connection, and then hold nothing`()
        throws
    {
        let bench = try bench(50)
        let (gone, asker, saver) = (try bench.client(), try bench.client(), try bench.client())
        let from = try rename(bench, "h")
        let question = ClientMessage.verdicts(VerdictRequest(from: from, items: [try item()]))
        let id = try asker.send(question)
        _ = try gone.send(question)
        bench.holdReaders(true)
        for _ in 0..<20 { try bench.turn() }
        #expect(asker.session.read != nil && gone.session.read != nil)
        #expect(bench.engine.reads.bytes.held > 0)
        bench.engine.disconnect(gone.session, because: nil)
        #expect(gone.session.read == nil)
        let asked = bench.position.number
        try saver.save([try bench.bench.insert("Tag", 200)])
        bench.holdReaders(false)
        guard case .verdicts(let answer) = try asker.answer(id) else {
            Issue.record("no verdicts")
            return
        }
        #expect(answer.items.map(\.count) == [50] && bench.engine.reads.bytes.held == 0)
        #expect(answer.position == asked && bench.engine.reads.running.isEmpty)
    }

    @Test func `running verdicts expire if the model changes`() throws {
        let bench = try bench(50)
        let asker = try bench.client()
        let from = try rename(bench, "h")
        let id = try asker.send(.verdicts(VerdictRequest(from: from, items: [try item()])))
        bench.holdReaders(true)
        for _ in 0..<4 { try bench.turn() }
        #expect(asker.session.read != nil)
        var model = graphModel
        model.entities["Spare"] = Entity("Spare")
        try bench.bench.committer.install(model, by: Principal())
        bench.holdReaders(false)
        guard case .failure(let error) = try asker.answer(id) else {
            Issue.record("no failure")
            return
        }
        #expect(error.code == .historyExpired && bench.engine.reads.bytes.held == 0)
    }
}
