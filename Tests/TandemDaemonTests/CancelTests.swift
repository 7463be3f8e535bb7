import TandemModel
import TandemQuery
import TandemWire
import Testing

@testable import TandemDaemon

/// Questions that their clients give up.
@Suite(.ownThread) struct CancelTests {
    /// Nodes that no index finds, and a daemon that looks at ten of them in a turn.
    private func bench(_ count: UInt64 = 300) throws -> EngineBench {
        var limits = DaemonLimits()
        limits.sliceReads = 10
        let bench = try EngineBench(limits: limits)
        try bench.bench.save(try (1...count).map { try bench.bench.insert("Node", $0) })
        return bench
    }

    private func question(_ bench: EngineBench) throws -> ClientMessage {
        let tag = try bench.bench.entity("Node").tag
        return .fetch(
            Fetch(request: FetchRequest(entity: "Node", sort: ["name"]), interests: [tag]))
    }

    private func failure(_ message: DaemonMessage) -> TandemError.Code? {
        if case .failure(let error) = message { error.code } else { nil }
    }

    private func counts(_ bench: EngineBench) -> [Int64?] {
        ["cancelledRequests", "lateCancels"].map { bench.engine.status[$0]?.int }
    }

    @Test func `a fetch under way ends, and what waited behind it begins`() throws {
        let bench = try bench()
        let client = try bench.client()
        let first = try client.send(try question(bench))
        let second = try client.send(
            .fetch(Fetch(request: FetchRequest(entity: "Tag"), kind: .count)))
        try bench.turn()
        let read = try #require(client.session.read)
        #expect(read.id == first && bench.engine.readBytes > 0)
        try client.write(.cancel, id: first)
        try bench.turn()
        #expect(client.session.read == nil && bench.engine.readBytes == 0)
        #expect(failure(try client.answer(first)) == .cancelled)
        guard case .fetched(let found) = try client.answer(second) else {
            Issue.record("no answer")
            return
        }
        #expect(found.count == 0)
        let looked = try #require(read.cursor).rowsRead
        for _ in 0..<5 { try bench.turn() }
        #expect(looked < 300 && read.cursor?.rowsRead == looked)
        // What is not answered makes the client follow nothing.
        #expect(client.session.interests.isEmpty && counts(bench) == [1, 0])
        #expect(client.session.machine.inFlightCount == 0)
    }

    @Test func `what waits is given up without being begun`() throws {
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
        #expect(bench.engine.nextDeadline == nil)
        #expect(failure(try client.answer(first)) == nil)
        #expect(failure(try client.answer(third)) == nil)
        #expect(counts(bench) == [2, 0])
    }

    @Test func `a save goes on, and what is not there is ignored and counted`() throws {
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
        // Its id is free again.
        try client.write(.status, id: save)
        #expect(failure(try client.answer(save)) == nil)
    }

    @Test func `law 8: cancels without end cost the daemon no memory and get no answers`() throws {
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

    @Test func `law 7: the questions of a client that has left end`() throws {
        let bench = try bench()
        let client = try bench.client()
        _ = try client.send(try question(bench))
        _ = try client.send(try question(bench))
        try bench.turn()
        let read = try #require(client.session.read)
        let looked = try #require(read.cursor).rowsRead
        client.socket.shutdown()
        for _ in 0..<5 { try bench.turn() }
        #expect(bench.engine.sessions.isEmpty && bench.engine.readBytes == 0)
        #expect(read.cursor?.rowsRead == looked && !bench.engine.hasWork)
    }

    @Test func `before the welcome nothing can be given up`() throws {
        let bench = try bench(1)
        let peer = try bench.peer()
        try peer.write(.cancel, id: 1)
        try bench.turn()
        try peer.read()
        #expect(peer.isClosed)
    }
}
