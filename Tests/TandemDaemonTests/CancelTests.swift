import TandemModel
import TandemQuery
import TandemWire
import Testing

@testable import TandemDaemon

/// Requests that their clients cancel.
@Suite(.ownThread) struct CancelTests {
    /// Returns a bench with nodes that no index finds, and readers that wait for the test.
    private func bench(_ count: UInt64 = 300) throws -> EngineBench {
        let bench = try EngineBench.ofReaders()
        bench.holdReaders(true)
        try bench.bench.save(try (1...count).map { try bench.bench.insert("Node", $0) })
        return bench
    }

    private func question(_ bench: EngineBench) throws -> ClientMessage {
        let tag = try bench.bench.entity("Node").tag
        return .fetch(
            Fetch(request: FetchDescriptor(entity: "Node", sort: ["name"]), interests: [tag]))
    }

    private func failure(_ message: DaemonMessage) -> TandemError.Code? {
        if case .failure(let error) = message { error.code } else { nil }
    }

    private func counts(_ bench: EngineBench) -> [Int64?] {
        ["cancelledRequests", "lateCancels"].map { bench.engine.status[$0]?.int }
    }

    @Test func `a running fetch ends, and the request queued after it begins`() throws {
        let bench = try bench()
        let client = try bench.client()
        let first = try client.send(try question(bench))
        let second = try client.send(
            .fetch(Fetch(request: FetchDescriptor(entity: "Tag"), kind: .count)))
        try bench.turnsUntilRead(client)
        let read = try #require(client.session.read)
        #expect(read.id == first && bench.engine.reads.bytes.held > 0)
        #expect(client.session.interests.count == 1)
        try client.write(.cancel, id: first)
        try bench.turn()
        #expect(client.session.read !== read)
        #expect(failure(try client.answer(first)) == .cancelled)
        bench.holdReaders(false)
        guard case .fetched(let found) = try client.answer(second) else {
            Issue.record("no answer")
            return
        }
        #expect(found.count == 0)
        for _ in 0..<5 { try bench.turn() }
        #expect(bench.engine.reads.bytes.held == 0 && bench.engine.reads.running.isEmpty)
        #expect(read.job?.heldBytes == 0)
        // An unanswered fetch adds no interests.
        #expect(client.session.interests.isEmpty && counts(bench) == [1, 0])
        #expect(client.session.machine.inFlightCount == 0)
    }

    @Test func `an admin ends a running fetch of another client`() throws {
        let bench = try bench()
        let (client, admin) = (try bench.client(), try bench.client())
        let id = try client.send(try question(bench))
        try bench.turnsUntilRead(client)
        let request = ClientMessage.disconnect(client: client.session.id, request: id)
        #expect(try admin.ask(request) == .disconnected(true))
        guard case .failure(let error) = try client.answer(id) else {
            Issue.record("the fetch was answered")
            return
        }
        #expect(error.code == .cancelled && error.message.contains("administrator"))
        bench.holdReaders(false)
        for _ in 0..<5 { try bench.turn() }
        #expect(bench.engine.reads.bytes.held == 0 && bench.engine.reads.running.isEmpty)
        #expect(bench.bench.store.readers.count == 0 && !client.session.isClosing)
    }

    @Test func `queued requests are cancelled without being started`() throws {
        let bench = try bench()
        let client = try bench.client()
        let first = try client.send(try question(bench))
        let (second, third) = (try client.send(try question(bench)), try client.send(.status))
        let sync = try client.send(.sync(Sync(number: 1_000, timeoutMilliseconds: 60_000)))
        try bench.turn()
        let bytes = client.session.inboundBytes
        for id in [second, sync] { try client.write(.cancel, id: id) }
        try bench.turn()
        #expect(failure(try client.answer(second)) == .cancelled)
        #expect(failure(try client.answer(sync)) == .cancelled)
        #expect(client.session.inboundBytes < bytes && client.session.syncs.isEmpty)
        #expect(bench.engine.syncs.nextDeadline == nil)
        bench.holdReaders(false)
        #expect(failure(try client.answer(first)) == nil)
        #expect(failure(try client.answer(third)) == nil)
        #expect(counts(bench) == [2, 0])
    }

    @Test func `a save is not cancelled, and cancels of unknown requests are ignored and counted`()
        throws
    {
        let bench = try bench()
        let client = try bench.client()
        let save = try client.send(
            .save(client.saveRequest([try bench.bench.insert("Tag", 1_000)])))
        try client.write(.cancel, id: save)
        try client.write(.cancel, id: 4_711)
        guard case .saved(let saved) = try client.answer(save) else {
            Issue.record("no answer")
            return
        }
        try client.write(.cancel, id: save)
        try bench.turn()
        #expect(saved.position == bench.position.number && !client.isClosed)
        #expect(counts(bench) == [0, 3])
        // The save's id is free again.
        try client.write(.status, id: save)
        #expect(failure(try client.answer(save)) == nil)
    }

    @Test func `law 8: endless cancels cost the daemon no memory and get no answers`() throws {
        let bench = try bench()
        let client = try bench.client()
        var bytes: [UInt8] = []
        for id in UInt32(1)...10_000 {
            try FrameEncoder.encode(ClientMessage.cancel, id: id, into: &bytes)
        }
        try client.write(bytes)
        try bench.turn()
        #expect(client.session.outboundBytes == 0 && client.session.inboundBytes == 0)
        #expect(counts(bench) == [0, 10_000])
    }

    @Test func `law 7: the requests of a client that has left end`() throws {
        let bench = try bench()
        let client = try bench.client()
        _ = try client.send(try question(bench))
        _ = try client.send(try question(bench))
        try bench.turnsUntilRead(client)
        #expect(bench.engine.reads.bytes.held > 0)
        client.socket.shutdown()
        try bench.turn()
        #expect(bench.engine.admission.sessions.isEmpty && bench.engine.reads.bytes.held == 0)
        bench.holdReaders(false)
        for _ in 0..<5 { try bench.turn() }
        #expect(bench.engine.reads.running.isEmpty && bench.engine.reads.bytes.held == 0)
        #expect(!bench.engine.hasWork)
    }

    /// The stage of a read when it is cancelled.
    enum Stage: CaseIterable { case waits, hasReader, isAnswered }

    @Test(arguments: Stage.allCases)
    func `law 8: a cancelled read frees its memory and its reader at any stage`(
        _ stage: Stage
    ) throws {
        var limits = DaemonLimits()
        limits.chunkBytes = 1
        let bench = try EngineBench.ofReaders(limits: limits)
        try bench.bench.save(try (1...300).map { try bench.bench.insert("Node", $0) })
        bench.holdReaders(true)
        // Two jobs run in the readers, and a third waits.
        let others = stage == .waits ? try (0..<2).map { _ in try bench.client() } : []
        for other in others { _ = try other.send(try question(bench)) }
        for _ in 0..<5 { try bench.turn() }
        let held = bench.engine.reads.bytes.held
        let client = try bench.client()
        let id = try client.send(try question(bench))
        for _ in 0..<5 { try bench.turn() }
        let read = try #require(client.session.read)
        #expect((read.job == nil) == (stage == .waits))
        if stage == .isAnswered {
            bench.holdReaders(false)
            for _ in 0..<3 { try bench.turn() }
            #expect(read.hasSent && client.session.read === read)
        }
        #expect(bench.engine.reads.bytes.held > held)
        try client.write(.cancel, id: id)
        try bench.turn()
        #expect(failure(try client.answer(id)) == .cancelled)
        #expect(bench.engine.reads.bytes.held == held && client.session.read == nil)
        bench.holdReaders(false)
        for other in others {
            #expect(try other.answer(1).fetched.objects.count == 300)
        }
        for _ in 0..<5 { try bench.turn() }
        #expect(bench.engine.reads.bytes.held == 0 && bench.engine.reads.running.isEmpty)
        #expect(bench.engine.reads.readers.room == 4 && bench.bench.store.readers.count == 0)
        // The request's id is free, and the next answer contains nothing of the cancelled one.
        #expect(try client.fetch(try question(bench).fetch).objects.count == 300)
    }

    @Test func `before the welcome nothing can be cancelled`() throws {
        let bench = try bench(1)
        let peer = try bench.peer()
        try peer.write(.cancel, id: 1)
        try bench.turn()
        try peer.read()
        #expect(peer.isClosed)
    }
}

extension ClientMessage {
    fileprivate var fetch: Fetch {
        get throws {
            guard case .fetch(let fetch) = self else { throw TandemError(.usage, "no fetch") }
            return fetch
        }
    }
}
