import TandemModel
import TandemQuery
import TandemWire
import Testing

@testable import TandemDaemon

/// Large answers, which go out in parts between which others are served.
@Suite struct AnswerPartTests {
    /// Nodes, and a daemon that sends each as a part.
    private func bench(
        _ count: UInt64 = 30, _ change: (inout DaemonLimits) -> Void = { _ in }
    ) throws -> EngineBench {
        var limits = DaemonLimits()
        limits.partBytes = 1
        change(&limits)
        let bench = try EngineBench(limits: limits)
        try bench.bench.save(
            try (1...count).map { try bench.bench.insert("Node", $0, ["name": .string("\($0)")]) })
        return bench
    }

    private func fetch(_ bench: EngineBench, _ kind: Fetch.Kind = .rows) throws -> Fetch {
        let request = FetchRequest(entity: "Node", sort: ["name"])
        let tag = try bench.bench.entity("Node").tag
        return Fetch(
            request: request, kind: kind, interests: [tag],
            columns: kind == .columns ? FetchColumns(["name"].compactMap { FetchColumn($0) }) : nil,
            list: kind == .list ? ListDetails(sectionKeyPath: "name") : nil)
    }

    @Test(arguments: Fetch.Kind.allCases)
    func `law 4: an answer in parts is the one that comes whole`(_ kind: Fetch.Kind) throws {
        let (parts, whole) = (try bench(), try bench { $0.partBytes = 1 << 20 })
        let answers = try [parts, whole].map { bench in
            try bench.client().fetch(try fetch(bench, kind))
        }
        #expect(answers[0] == answers[1] && answers[0].count == 30)
    }

    @Test func `law 2: what others save between parts is pushed behind the answer's position`()
        throws
    {
        let bench = try bench()
        let (client, writer) = (try bench.client(), try bench.client())
        let id = try client.send(.fetch(try fetch(bench)))
        let position = bench.position.number
        try bench.turn()
        #expect(client.session.read?.answer != nil)
        for number in UInt64(1)...3 {
            try writer.save([try bench.bench.update("Node", number, ["name": .string("new")])])
        }
        guard case .fetched(let answer) = try client.answer(id) else {
            Issue.record("no answer")
            return
        }
        #expect(answer.position == position && answer.objects.count == 30)
        #expect(!answer.objects.contains { $0.version > position })
        try client.read()
        let pushed = client.pushes.map(\.transaction.position)
        #expect(pushed == [position + 1, position + 2, position + 3])
        #expect(client.machine.cursor == position + 3 && bench.engine.readBytes == 0)
    }

    @Test func `law 2: an answer begins where it was read, whatever waits before it`() throws {
        let bench = try bench()
        let client = try bench.client()
        // Its answer, which waits in the same turn, is larger than a part.
        _ = try client.send(.status)
        _ = try client.send(.fetch(try fetch(bench)))
        try bench.turn()
        try client.read()
        #expect(client.session.read?.answer != nil)
        #expect(client.machine.cursor == bench.position.number)
    }

    @Test func `law 7: a saver waits for a part and not for the answer`() throws {
        let bench = try bench(300)
        let (client, writer) = (try bench.client(), try bench.client())
        let id = try client.send(.fetch(try fetch(bench)))
        try bench.turn()
        try writer.save([try bench.bench.update("Node", 1, ["name": .string("new")])])
        // It is saved, and most of the answer is still to be made.
        let answer = try #require(client.session.read?.answer)
        #expect(answer.bytes > 0 && !answer.isDone)
        guard case .fetched(let found) = try client.answer(id) else {
            Issue.record("no answer")
            return
        }
        #expect(found.objects.count == 300)
    }

    @Test func `an answer that has begun can be given up`() throws {
        let bench = try bench(300)
        let client = try bench.client()
        let id = try client.send(.fetch(try fetch(bench)))
        try bench.turn()
        #expect(client.session.read?.answer != nil && bench.engine.readBytes > 0)
        try client.write(.cancel, id: id)
        guard case .failure(let error) = try client.answer(id) else {
            Issue.record("the whole came")
            return
        }
        #expect(error.code == .cancelled && bench.engine.readBytes == 0)
        #expect(client.session.read == nil && client.session.machine.inFlightCount == 0)
        // Its id is free, and the next answer has nothing of it.
        #expect(try client.fetch(try fetch(bench)).objects.count == 300)
    }

    @Test func `law 8: answers that are not read make room for others`() throws {
        let text = Value.string(String(repeating: "x", count: 10_000))
        let bench = try bench(1) { limits in
            limits.readBytes = 8 << 20
            limits.outboundBytes = 4_096
            limits.sliceReads = 50
        }
        for start in stride(from: UInt64(2), to: 302, by: 100) {
            try bench.bench.save(
                try (start..<start + 100).map {
                    try bench.bench.insert("Node", $0, ["name": text])
                })
        }
        let (silent, client) = (try bench.client(), try bench.client())
        _ = try silent.send(.fetch(try fetch(bench)))
        for _ in 0..<20 { try bench.turn() }
        let held = bench.engine.readBytes
        #expect(silent.session.read?.answer != nil && held > 2 << 20)
        let found = try client.fetch(try fetch(bench))
        #expect(found.objects.count == 301)
        // Who did not read is told instead of the rest.
        #expect(silent.session.read == nil && bench.engine.readBytes == 0)
        for _ in 0..<1_000 where silent.received.isEmpty {
            try silent.read()
            try bench.turn()
            try bench.engine.serve(silent.session)
        }
        guard case .failure(let error) = silent.received.first?.message else {
            Issue.record("no failure")
            return
        }
        #expect(error.code == .limitExceeded)
    }

    @Test func `law 6: an answer that has begun ends under another model`() throws {
        let bench = try bench()
        let (client, writer) = (try bench.client(), try bench.client())
        let id = try client.send(.fetch(try fetch(bench)))
        try bench.turn()
        var model = graphModel
        model.entities["Node"]?.attributes["added"] = Attribute("added", .int)
        _ = try writer.ask(.schema(SchemaRequest(model: model.json.text)))
        guard case .fetched(let answer) = try client.answer(id) else {
            Issue.record("no answer")
            return
        }
        #expect(answer.objects.count == 30)
    }
}
