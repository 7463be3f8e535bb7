import TandemIO
import TandemModel
import TandemQuery
import TandemWire
import Testing

@testable import TandemDaemon

/// Large answers, sent in chunks; other clients are served in between.
@Suite(.ownThread) struct AnswerChunkTests {
    /// Returns a bench with nodes whose daemon sends each node as a chunk.
    private func bench(_ count: UInt64 = 30, chunkBytes: Int = 1) throws -> EngineBench {
        var limits = DaemonLimits()
        limits.chunkBytes = chunkBytes
        let bench = try EngineBench.ofReaders(limits: limits)
        try bench.bench.save(
            try (1...count).map { try bench.bench.insert("Node", $0, ["name": .string("\($0)")]) })
        return bench
    }

    private func fetch(
        _ bench: EngineBench, _ kind: Fetch.Kind = .rows, offset: Int = 0, limit: Int? = nil
    ) throws -> Fetch {
        let request = FetchDescriptor(entity: "Node", sort: ["name"], limit: limit, offset: offset)
        let tag = try bench.bench.entity("Node").tag
        return Fetch(
            request: request, kind: kind, interests: [tag],
            columns: kind == .columns ? FetchColumns(["name"].compactMap { FetchColumn($0) }) : nil,
            list: kind == .list ? ListDetails(sectionKeyPath: "name") : nil)
    }

    @Test(
        arguments: Fetch.Kind.allCases, [(0, nil), (7, nil), (0, 12), (25, 12), (7, 12), (40, 3)])
    func `law 4: a chunked answer equals the unchunked one`(
        _ kind: Fetch.Kind, _ window: (offset: Int, limit: Int?)
    ) throws {
        let (parts, whole) = (try bench(), try bench(chunkBytes: 1 << 20))
        let answers = try [parts, whole].map { bench in
            try bench.client().fetch(
                try fetch(bench, kind, offset: window.offset, limit: window.limit))
        }
        let wanted = max(0, min(window.limit ?? 30, 30 - window.offset))
        #expect(answers[0] == answers[1])
        #expect(answers[0].bodyCount == (kind == .count ? 0 : wanted))
        if kind != .count { #expect(answers[0].count == UInt64(wanted)) }
    }

    @Test func `law 2: saves of others between chunks are pushed after the answer's position`()
        throws
    {
        let bench = try bench()
        let (client, writer) = (try bench.client(), try bench.client())
        let id = try client.send(.fetch(try fetch(bench)))
        let position = bench.position.number
        try bench.turnsUntilSent(client)
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
        #expect(client.machine.cursor == position + 3)
        #expect(bench.engine.reads.bytes.held == 0)
    }

    @Test func `law 2: an answer begins at its read position, whatever is queued before it`() throws
    {
        let bench = try bench()
        let client = try bench.client()
        // The status, which waits in the same turn, is larger than a chunk.
        _ = try client.send(.status)
        _ = try client.send(.fetch(try fetch(bench)))
        try bench.turnsUntilSent(client)
        try client.read()
        #expect(client.machine.cursor == bench.position.number)
    }

    @Test func `law 7: a writer waits for one chunk and not for the whole answer`() throws {
        let bench = try bench(300)
        let (client, writer) = (try bench.client(), try bench.client())
        let id = try client.send(.fetch(try fetch(bench)))
        try bench.turnsUntilSent(client)
        try writer.save([try bench.bench.update("Node", 1, ["name": .string("new")])])
        // The save is complete, and most of the answer is still to be encoded.
        let job = try #require(client.session.read?.job)
        #expect(job.heldBytes > 0 && !job.hasFailed)
        guard case .fetched(let found) = try client.answer(id) else {
            Issue.record("no answer")
            return
        }
        #expect(found.objects.count == 300)
    }

    @Test func `an answer that has begun can be cancelled`() throws {
        let bench = try bench(300)
        let client = try bench.client()
        let id = try client.send(.fetch(try fetch(bench)))
        try bench.turnsUntilSent(client)
        #expect(bench.engine.reads.bytes.held > 0)
        try client.write(.cancel, id: id)
        guard case .failure(let error) = try client.answer(id) else {
            Issue.record("the whole answer arrived")
            return
        }
        #expect(error.code == .cancelled && bench.engine.reads.bytes.held == 0)
        #expect(client.session.read == nil && client.session.machine.inFlightCount == 0)
        // The request's id is free, and the next answer contains nothing of the cancelled one.
        #expect(try client.fetch(try fetch(bench)).objects.count == 300)
    }

    /// Returns a bench with 300 nodes, three MiB in total, whose daemon allows eight MiB for
    /// answers being sent.
    private func largeBench(
        _ clock: ManualClock, readBytes: Int = 8 << 20
    ) throws -> EngineBench {
        var limits = DaemonLimits()
        (limits.chunkBytes, limits.readBytes) = (1, readBytes)
        let bench = try EngineBench.ofReaders(limits: limits, engineClock: clock)
        let text = PropertyValue.string(String(repeating: "x", count: 10_000))
        for start in stride(from: UInt64(1), to: 301, by: 100) {
            try bench.bench.save(
                try (start..<start + 100).map {
                    try bench.bench.insert("Node", $0, ["name": text])
                })
        }
        return bench
    }

    @Test(arguments: [0, 5] as [UInt64])
    func `law 8: answers that were not read for seconds make room for others`(
        _ seconds: UInt64
    ) throws {
        let clock = ManualClock(monotonicNanoseconds: 1, wallMicroseconds: 1)
        let bench = try largeBench(clock)
        let silent = try (0..<2).map { _ in try bench.client() }
        for client in silent {
            _ = try client.send(.fetch(try fetch(bench)))
            try bench.turnsUntilSent(client)
        }
        // As much of the answers is sent as the sockets accept.
        for _ in 0..<200 { try bench.turn() }
        #expect(silent.allSatisfy { $0.session.isWaitingToWrite })
        let held = bench.engine.reads.bytes.held
        #expect(
            held > 6_000_000 && bench.engine.reads.running.allSatisfy { $0.job?.isReading == false }
        )
        clock.advance(byNanoseconds: seconds * 1_000_000_000)
        let client = try bench.client()
        if seconds == 0 {
            // The held answers may still be read, so the newcomer has to retry.
            let error = #expect(throws: TandemError.self) { try client.fetch(try fetch(bench)) }
            #expect(error?.code == .limitExceeded && bench.engine.reads.bytes.held == held)
            // A smaller answer displaces a larger one.
            let limited = try fetch(bench, limit: 260)
            #expect(try client.fetch(limited).objects.count == 260)
            #expect(silent.count { $0.session.read == nil } == 1)
            return
        }
        #expect(try client.fetch(try fetch(bench)).objects.count == 300)
        // Cancelling one answer is enough; its client receives an error in place of the remaining
        // chunks.
        #expect(silent.count { $0.session.read == nil } == 1)
        #expect(bench.engine.reads.bytes.held == held / 2)
        for client in silent where client.session.read == nil {
            guard case .failure(let error) = try client.answer(1) else {
                Issue.record("no failure")
                return
            }
            #expect(error.code == .limitExceeded && error.message.contains("read faster"))
        }
    }

    @Test func `law 8: a client that does not read holds at most its answer, and no snapshot`()
        throws
    {
        let bench = try largeBench(ManualClock(monotonicNanoseconds: 1, wallMicroseconds: 1))
        let (silent, saver) = (try bench.client(), try bench.client())
        let id = try silent.send(.fetch(try fetch(bench)))
        try bench.turnsUntilSent(silent)
        for _ in 0..<200 { try bench.turn() }
        #expect(silent.session.isWaitingToWrite)
        let held = bench.engine.reads.bytes.held
        #expect(held > 2_000_000 && held < 4_000_000)
        #expect(bench.bench.store.readers.count == 0 && bench.engine.reads.readers.room == 4)
        // The held answer costs others nothing, however long it is held.
        for number in UInt64(1)...20 {
            try saver.save([try bench.bench.update("Node", number, ["rank": .int(7)])])
            #expect(try saver.fetch(try fetch(bench, .count)).count == 300)
        }
        #expect(bench.engine.reads.bytes.held == held && bench.engine.reads.nextDeadline == nil)
        guard case .fetched(let answer) = try silent.answer(id) else {
            Issue.record("no answer")
            return
        }
        #expect(answer.objects.count == 300 && bench.engine.reads.bytes.held == 0)
    }

    /// Answers of silent clients hold no readers, but used to be counted as running reads, so that
    /// no further read of the user began.
    @Test func `law 7: clients that do not read occupy no readers that others of their user need`()
        throws
    {
        let clock = ManualClock(monotonicNanoseconds: 1, wallMicroseconds: 1)
        let bench = try largeBench(clock, readBytes: 64 << 20)
        let silent = try (0..<5).map { _ in try bench.client() }
        for client in silent {
            _ = try client.send(.fetch(try fetch(bench)))
            try bench.turnsUntilSent(client)
            for _ in 0..<50 { try bench.turn() }
            #expect(client.session.isWaitingToWrite)
        }
        #expect(bench.engine.reads.running.count == 5 && bench.engine.reads.readers.room == 4)
        let other = try bench.client()
        #expect(try other.fetch(try fetch(bench, .count)).count == 300)
        let batch = try other.send(.batch(try bench.batch("Node")))
        guard case .batched(let answer) = try other.answer(batch) else {
            Issue.record("the batch failed")
            return
        }
        #expect(answer.count == 300)
    }

    /// Each read held less than reads may hold, but both together held more.
    @Test func `law 8: the memory of all running reads together is bounded`() throws {
        var limits = DaemonLimits()
        limits.readBytes = 1 << 20
        let bench = try EngineBench.ofReaders(limits: limits)
        try bench.insertNodes(5_000)
        let fetch = Fetch(request: FetchDescriptor(entity: "Node"))
        let first = try bench.client()
        let id = try first.send(.fetch(fetch))
        // Simulates another read that holds nearly all of the allowed memory.
        _ = bench.engine.reads.bytes.memory.change(from: 0, to: limits.readBytes * 9 / 10)
        guard case .failure(let error) = try first.answer(id) else {
            Issue.record("the read was accepted")
            return
        }
        #expect(error.code == .limitExceeded && error.message.contains("all reads hold"))
        #expect(try first.fetch(try self.fetch(bench, .count)).count == 5_000)
        _ = bench.engine.reads.bytes.memory.change(from: limits.readBytes * 9 / 10, to: 0)
        #expect(bench.engine.reads.bytes.memory.bytes == 0)
        #expect(try first.fetch(fetch).objects.count == 5_000)
    }

    @Test func `law 6: an answer that has begun ends if the model changes`() throws {
        let bench = try bench()
        let (client, writer) = (try bench.client(), try bench.client())
        let id = try client.send(.fetch(try fetch(bench)))
        try bench.turnsUntilSent(client)
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

extension EngineBench {
    /// Runs turns until a client was sent the beginning of its answer, but not all of it.
    fileprivate func turnsUntilSent(_ client: Peer) throws {
        for _ in 0..<100 where client.session.read?.hasSent != true { try turn() }
        #expect(client.session.read?.hasSent == true)
    }
}
