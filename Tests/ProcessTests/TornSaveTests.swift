import Glibc
import Tandem
import TandemIO
import TandemModel
import TandemWire
import Testing

/// Connections to a daemon whose answers can be lost, and that can be cut and blocked.
final class LosingProxy: Sendable {
    private struct State {
        var next = 0
        /// Connections with a lower number receive no more answers.
        var losingBelow = 0
        var isShut = false
        var sockets: [Socket] = []
    }

    private let path: String
    private let state = Locked(State())

    init(_ path: String) { self.path = path }

    /// Discards all further answers to the current connections.
    func lose() { state.withLock { $0.losingBelow = $0.next } }

    /// Ends all connections, and refuses new ones until the proxy is opened.
    func shut() {
        let sockets = state.withLock { state in
            state.isShut = true
            defer { state.sockets.removeAll() }
            return state.sockets
        }
        for socket in sockets { socket.shutdown() }
    }

    /// Accepts connections again.
    func open() { state.withLock { $0.isShut = false } }

    var transport: Transport {
        .connected { [self] in
            guard !state.withLock({ $0.isShut }) else {
                throw TandemError(.disconnected, "the proxy refuses connections")
            }
            let daemon = try Socket.connect(path: path)
            let (near, far) = try Socket.pair()
            let number = state.withLock { state in
                state.sockets.append(far)
                state.next += 1
                return state.next - 1
            }
            _ = try KernelThread.start(name: "ask") { self.carry(far, daemon) { false } }
            _ = try KernelThread.start(name: "answer") {
                self.carry(daemon, far) { self.state.withLock { number < $0.losingBelow } }
            }
            return near
        }
    }

    private func carry(_ from: Socket, _ to: Socket, isLost: () -> Bool) {
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = (try? buffer.withUnsafeMutableBytes { try from.readSome(into: $0) }) ?? 0
            guard count > 0 else { break }
            if isLost() { continue }
            guard (try? to.writeAll(Array(buffer[..<count]))) != nil else { break }
        }
        from.shutdown()
        to.shutdown()
    }
}

@MainActor @Suite(.serialized) struct TornSaveTests {
    @Test
    func `law 3: a daemon killed between commit and answer has saved once, with the first ids`()
        throws
    {
        let place = try Place()
        let daemon = Locked(
            try place.serve())
        defer { daemon.withLock { $0 }.end(SIGTERM) }
        let bridge = try BridgeProcess(place.socket)
        defer { bridge.kill() }
        try bridge.ask(#"{"do": "schema", "apply": \#(bridgeModel)}"#)
        try bridge.ask(
            #"{"do": "save", "ops": [{"insert": "Team", "set": {"name": "A"}}, {"insert": "Team", "set": {"name": "B"}}]}"#
        )
        let proxy = LosingProxy(place.socket)
        var limits = ClientLimits()
        limits.connectMilliseconds = 60_000
        let context = PersistentContainer(
            author: "torn", transport: proxy.transport, limits: limits
        ).makeContext(name: "torn")
        for round in 0..<3 {
            let old = try #require(
                try context.fetch(FetchRequest(entity: "Team")).first { $0.id.number == 1 })
            let (taken, other) = (try context.insert("Team"), try context.insert("Team"))
            taken["name"] = .string("A")
            taken["wins"] = .int(Int64(round + 1))
            other["name"] = .string("n\(round)")
            let doomed = try context.insert("Player")
            doomed.setObject(other, for: "team")
            context.delete(other)
            let player = try context.insert("Player")
            player.setObject(taken, for: "team")
            let end = try #require(context.position).number
            proxy.lose()
            let killer = try KernelThread.start(name: "killer") {
                // Wait until the save is committed; its answer is lost.
                let watch = try? WireClient(place.socket, Hello(author: "watch"))
                _ = try? watch?.ask(.sync(Sync(number: end + 1, timeoutMilliseconds: 30_000)))
                daemon.withLock { $0 }.end(round == 1 ? SIGTERM : SIGKILL)
                guard
                    let next = try? place.serve()
                else { return }
                daemon.withLock { $0 = next }
            }
            let outcome = Result { try context.save(policy: .objectTrump) }
            killer.join()
            let position = try outcome.get()
            #expect(position.number == end + 1)
            #expect(
                context.tools.lastReceipt?.isRepeat == true
                    && context.tools.lastReceipt?.wrote == true)
            #expect(taken.id == old.id && old["wins"] == .int(Int64(round + 1)))
            #expect(player["team"].reference?.number == 1 && !context.hasChanges)
            // A player is deleted with its team, even if both are new.
            #expect(doomed.isDeleted)
            #expect(try context.fetch(FetchRequest(entity: "Player")).count == round + 1)
        }
        #expect(try bridge.ask(#"{"do": "count", "entity": "Team"}"#)["count"] == .int(2))
    }
}
