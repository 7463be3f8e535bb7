import TandemIO
import TandemModel
import TandemWire
import Testing

@testable import TandemDaemon

/// Saves that arrive while others are planned: they join the same flush, and are answered only
/// after it.
@Suite(.ownThread) struct GatherTests {
    @Test func `law 1: the refusal of a coalesced save is not sent before the flush`() throws {
        let bench = try EngineBench()
        let (first, second) = (try bench.client(), try bench.client())
        try first.save([try bench.bench.insert("Node", 1)])
        let version = bench.position.number
        let poller = ScriptedPoller()
        let loop = try ServiceLoop(bench.engine, listener: nil, poller: poller)
        let batches = bench.engine.committer.counters.batches
        let winner = try first.send(.save(try update(first, bench, "a", version)))
        let loser = try second.send(.save(try update(second, bench, "b", version)))
        let readable = [first, second].map { poller.readable($0) }
        poller.rounds = [
            { [readable[0]] },
            // The second save arrives while the first is planned, and conflicts with it.
            { [readable[1]] },
            {
                // Now the refusal is queued. Bytes that close the connection must not flush it.
                try second.read()
                #expect(second.received.isEmpty)
                #expect(bench.engine.committer.hasPending)
                try second.write([UInt8](repeating: 0xff, count: 64))
                return [readable[1]]
            },
        ]
        _ = try loop.pass()
        #expect(bench.engine.committer.counters.batches == batches + 1)
        try second.read()
        #expect(second.failure == nil)
        #expect(second.received.map(\.id) == [loser])
        try first.read()
        #expect(first.received.map(\.id) == [winner])
    }

    @Test func `saves that arrive while others are planned share one flush`() throws {
        let bench = try EngineBench()
        let clients = try (0..<5).map { _ in try bench.client() }
        let poller = ScriptedPoller()
        let loop = try ServiceLoop(bench.engine, listener: nil, poller: poller)
        let counters = bench.engine.committer.counters
        poller.rounds = try clients.enumerated().map { index, client in
            let insert = try bench.bench.insert("Node", UInt64(index) + 1)
            let id = try client.send(.save(client.saveRequest([insert])))
            #expect(id > 0)
            return { [poller.readable(client)] }
        }
        _ = try loop.pass()
        let batches = bench.engine.committer.counters.batches - counters.batches
        #expect(batches == 1)
        for client in clients {
            try client.read()
            #expect(client.received.count == 1)
        }
        #expect(bench.engine.committer.counters.transactions == counters.transactions + 5)
    }

    private func update(
        _ client: Peer, _ bench: EngineBench, _ name: String, _ version: UInt64
    ) throws -> SaveRequest {
        client.saveRequest([
            try bench.bench.update("Node", 1, ["name": .string(name)], version: version)
        ])
    }
}
