import TandemIO
import TandemModel
import TandemQuery
import TandemWire
import TestSupport
import Testing

@testable import TandemDaemon

@Suite(.ownThread) struct SessionTests {
    @Test func `hello installs the first model and accepts an older one from then on`() throws {
        let bench = try EngineBench(model: ManagedObjectModel())
        let small = ManagedObjectModel { Entity("Thing") { Attribute("a", .string) } }
        let large = ManagedObjectModel {
            Entity("Thing") {
                Attribute("a", .string)
                Attribute("b", .string)
            }
        }
        let first = try bench.client(Hello(author: "one", model: small.json.text))
        #expect(try first.model.model == small)
        let second = try bench.client(Hello(author: "two", model: large.json.text))
        #expect(try second.model.model == large)
        let third = try bench.client(Hello(author: "three", model: small.json.text))
        #expect(try third.model.model == large)
        let none = try bench.client(Hello(author: "four"))
        #expect(try none.model.model == large)
        // A model that does not fit the stored objects is refused with a reason.
        let number = try #require(none.welcome?.lease.first)
        let tag = try #require(try none.model.entity(named: "Thing")?.tag)
        let object = ObjectReference(tag: tag, number: number)
        try none.save([.insert(object: object, values: [], links: [])])
        let other = ManagedObjectModel { Entity("Thing") { Attribute("a", .int) } }
        let fifth = try bench.peer()
        try fifth.greet(Hello(author: "five", model: other.json.text))
        #expect(fifth.failure?.code == .schemaMismatch)
        #expect(fifth.isClosed)
    }

    @Test func `law 2: a save is pushed to its own client before its answer`() throws {
        let bench = try EngineBench()
        let client = try bench.client(Hello(author: "a", interests: ["Node"]))
        let saved = try client.save([try bench.bench.insert("Node", 1)])
        #expect(client.pushes.map(\.transaction.position) == [saved.position])
        #expect(client.machine.cursor == saved.position)
    }

    @Test func `law 2: pushes name their predecessor, whatever is filtered out`() throws {
        let bench = try EngineBench()
        let nodes = try bench.client(Hello(author: "n", interests: ["Node"]))
        let tags = try bench.client(Hello(author: "t", interests: ["Tag"]))
        let both = try bench.client(Hello(author: "b", interests: ["Node", "Tag"]))
        let none = try bench.client(Hello(author: "-"))
        var random = SplitMix64(seed: seed)
        var expected: [String: [UInt64]] = ["Node": [], "Tag": []]
        for number in UInt64(1)...60 {
            let name = Bool.random(using: &random) ? "Node" : "Tag"
            let savers = [nodes, tags, both, none]
            let saver = savers.randomElement(using: &random) ?? none
            let saved = try saver.save([try bench.bench.insert(name, number)])
            expected[name, default: []].append(saved.position)
            // A read in between moves one client's cursor past transactions that are not pushed to
            // it.
            if number % 7 == 0 { _ = try savers[Int(number % 4)].ask(.read(Read())) }
        }
        for client in [nodes, tags, both, none] { try client.read() }
        #expect(nodes.pushes.map(\.transaction.position) == expected["Node"])
        #expect(tags.pushes.map(\.transaction.position) == expected["Tag"])
        #expect(both.pushes.map(\.transaction.position).count == 60)
        #expect(none.pushes.isEmpty)
        // A transaction of several entities arrives with the chunks of interest only.
        try none.save([try bench.bench.insert("Node", 100), try bench.bench.insert("Tag", 101)])
        try tags.read()
        let changes = try #require(try tags.pushes.last?.transaction.changes())
        #expect(changes.map(\.object.number) == [101])
    }

    @Test func `law 2: resuming delivers every later transaction once, also after a crash`() throws
    {
        let bench = try EngineBench()
        let hello = Hello(author: "a", interests: ["Node"])
        let writer = try bench.client()
        let first = try bench.client(hello)
        for number in UInt64(1)...5 { try writer.save([try bench.bench.insert("Node", number)]) }
        try first.read()
        let cursor = bench.position.at(first.machine.cursor)
        for number in UInt64(6)...9 { try writer.save([try bench.bench.insert("Node", number)]) }
        for isCrashed in [false, true] {
            if isCrashed { try bench.crash() }
            var again = hello
            again.resume = cursor
            let second = try bench.client(again)
            try second.read()
            #expect(second.welcome?.resumed == true)
            let expected = (cursor.number + 1)...(cursor.number + 4)
            #expect(second.pushes.map(\.transaction.position) == Array(expected))
        }
    }

    @Test func `a position of another log or epoch, or beyond the end, is not resumed`() throws {
        let bench = try EngineBench()
        let position = bench.position
        for wrong in [
            Position(log: LogID(high: 9, low: 9), epoch: 1, number: 1),
            Position(log: position.log, epoch: position.epoch + 1, number: 1),
            position.at(position.number + 1), position.at(.max),
            // A position before the model: rows of that time have another layout.
            position.at(0),
        ] {
            let client = try bench.client(Hello(author: "a", resume: wrong))
            #expect(client.welcome?.resumed == false)
            #expect(client.machine.cursor == position.number)
        }
        #expect(try bench.client(Hello(author: "a", resume: position)).welcome?.resumed == true)
    }

    @Test func `law 3: leases never overlap, also across a crash`() throws {
        let bench = try EngineBench()
        var taken: [ClosedRange<UInt64>] = []
        for round in 0..<4 {
            for _ in 0..<20 {
                let client = try bench.client()
                let lease = try #require(client.welcome?.lease)
                taken.append(lease.first...(lease.first + UInt64(lease.count) - 1))
                guard case .lease(let more) = try client.ask(.lease(count: 10)) else {
                    Issue.record("no lease")
                    continue
                }
                #expect(more.count == 10)
                taken.append(more.first...(more.first + UInt64(more.count) - 1))
            }
            if round % 2 == 0 { try bench.crash() }
        }
        taken.sort { $0.lowerBound < $1.lowerBound }
        for (a, b) in zip(taken, taken.dropFirst()) { #expect(a.upperBound < b.lowerBound) }
    }

    @Test func `an interest added by a fetch takes effect at the answer's position`() throws {
        let bench = try EngineBench()
        let writer = try bench.client()
        let reader = try bench.client()
        try writer.save([try bench.bench.insert("Node", 1)])
        let tag = try bench.bench.entity("Node").tag
        let answer = try reader.fetch(
            Fetch(request: FetchDescriptor(entity: "Node"), interests: [tag]))
        #expect(answer.objects.map(\.object.number) == [1])
        #expect(reader.pushes.isEmpty)
        let saved = try writer.save([try bench.bench.insert("Node", 2)])
        try reader.read()
        #expect(reader.pushes.map(\.transaction.position) == [saved.position])
        #expect(reader.pushes.first?.previous == answer.position)
        // Subentities are interests of their own.
        try writer.save([try bench.bench.insert("Leaf", 3)])
        try reader.read()
        #expect(reader.pushes.count == 1)
    }

    @Test func `sync is answered when the position is reached, after its pushes`() throws {
        let bench = try EngineBench()
        let writer = try bench.client()
        let reader = try bench.client(Hello(author: "r", interests: ["Node"]))
        let next = bench.position.number + 2
        let id = try reader.send(.sync(Sync(number: next)))
        try bench.turn()
        for number in UInt64(1)...2 {
            try reader.read()
            #expect(reader.received.isEmpty)
            try writer.save([try bench.bench.insert("Node", number)])
        }
        guard case .synced(let position) = try reader.answer(id) else {
            Issue.record("no answer")
            return
        }
        #expect(position == next)
        #expect(reader.pushes.map(\.transaction.position) == [next - 1, next])
        // A sync that is not reached in time fails.
        guard
            case .failure(let error) = try reader.ask(
                .sync(Sync(number: next + 5, timeoutMilliseconds: 0)))
        else {
            Issue.record("no failure")
            return
        }
        #expect(error.code == .timeout)
    }

    @Test func `history returns everything or a range, and reports if it is incomplete`() throws {
        let bench = try EngineBench()
        let client = try bench.client()
        for number in UInt64(1)...10 {
            try client.save([try bench.bench.insert(number % 2 == 0 ? "Node" : "Tag", number)])
        }
        func history(_ request: HistoryRequest) throws -> History {
            guard case .history(let answer) = try client.ask(.history(request)) else {
                throw TandemError(.usage, "no history")
            }
            return answer
        }
        let all = try history(HistoryRequest(from: 0))
        #expect(all.transactions.map(\.position) == Array(1...11))
        #expect(all.isComplete)
        let tag = try bench.bench.entity("Tag").tag
        let tags = try history(HistoryRequest(from: 1, interests: [tag], limit: 2))
        #expect(tags.transactions.map(\.position) == [2, 4])
        #expect(!tags.isComplete)
        let rest = try history(HistoryRequest(from: tags.position, to: 8, interests: [tag]))
        #expect(rest.transactions.map(\.position) == [6, 8])
        #expect(rest.isComplete)
        #expect(rest.position == 8)
        // Reading the past does not disturb the stream.
        try client.save([try bench.bench.insert("Node", 20)])
    }

    @Test func `a repeat over a new connection gets the first answer`() throws {
        let bench = try EngineBench()
        let first = try bench.client()
        let request = first.saveRequest([try bench.bench.insert("Node", 1)])
        guard case .saved(let saved) = try first.ask(.save(request)) else {
            Issue.record("not saved")
            return
        }
        try bench.crash()
        let second = try bench.client()
        guard case .saved(let again) = try second.ask(.save(request)) else {
            Issue.record("not saved")
            return
        }
        #expect(again.isRepeat && again.position == saved.position)
        #expect(bench.position.number == saved.position)
    }

    @Test func `the same save twice in one batch is applied once`() throws {
        let bench = try EngineBench()
        let (one, two) = (try bench.client(), try bench.client())
        let request = one.saveRequest([try bench.bench.insert("Node", 1)])
        let ids = [try one.send(.save(request)), try two.send(.save(request))]
        try bench.turn()
        guard case .saved(let first) = try one.answer(ids[0]),
            case .saved(let second) = try two.answer(ids[1])
        else {
            Issue.record("not saved")
            return
        }
        #expect(first.position == second.position)
        #expect([first.isRepeat, second.isRepeat].count { $0 } == 1)
        #expect(bench.engine.committer.counters.batches == 2)
    }
}
