public import Tandem
import TandemIO
public import TandemModel
import TandemWire

/// A transport with which a test controls the outcome of saves, delays messages and cuts
/// connections.
///
/// All messages come from a real daemon. A script can delay, drop or refuse them, but it can't send
/// a client messages that no daemon would send. To simulate other clients, connect another
/// container to the same daemon.
///
///     let daemon = try EmbeddedDaemon(.inMemory())
///     let script = ScriptedTransport(daemon.transport)
///     let container = PersistentContainer(model: model, transport: script.transport)
///     script.next(.lost)          // the daemon saves, but the answer is lost
///     try context.save()          // … so the save is sent again, under its id
///
/// A script can be used from any thread.
public final class ScriptedTransport: Sendable {
    /// The outcome of a save, or of a chunk of a batch insert.
    public enum Fate: Sendable {
        /// The daemon carries out and answers the request.
        case answered
        /// The daemon carries out the request, but the connection is cut before the answer is sent.
        case lost
        /// The connection is cut before the daemon receives the request.
        case cut
        /// The daemon never receives the request; the client receives this error.
        case refused(TandemError)
    }

    private struct State {
        var fates: [Fate] = []
        var saves = 0
        var readRequests = 0
        var refusesConnections = false
        var connections: [ScriptedConnection] = []
        var isHolding = false
    }

    private let base: Transport
    private let state = Locked(State())

    /// Creates a script that forwards all messages until one of its methods is called.
    public init(_ transport: Transport) { base = transport }

    /// The transport for the container.
    public var transport: Transport { .connected { [self] in try connect() } }

    /// Sets the outcomes of the next saves, in order; later saves are answered.
    public func next(_ fates: Fate...) { state.withLock { $0.fates += fates } }

    /// The number of saves and batch-insert chunks that were sent, including retries.
    public var saves: Int { state.withLock { $0.saves } }

    /// The number of read-only requests that were sent, including retries.
    ///
    /// These are fetches, reads, waits for a position, and the like. For code that only reads, this
    /// is the number of round trips.
    public var readRequests: Int { state.withLock { $0.readRequests } }

    /// Cuts all connections; clients reconnect.
    public func cut() {
        let connections = state.withLock { state in
            defer { state.connections = [] }
            return state.connections
        }
        for connection in connections { connection.end() }
    }

    /// Cuts all connections and refuses new ones until ``acceptConnections()``.
    public func refuseConnections() {
        state.withLock { $0.refusesConnections = true }
        cut()
    }

    /// Accepts connections again.
    public func acceptConnections() { state.withLock { $0.refusesConnections = false } }

    /// Holds back all messages from the daemon (pushes and answers), in order; blocked callers keep
    /// waiting.
    public func hold() {
        let connections = state.withLock { state in
            state.isHolding = true
            return state.connections
        }
        for connection in connections { connection.hold() }
    }

    /// Forwards the messages that were held back.
    public func release() {
        let connections = state.withLock { state in
            state.isHolding = false
            return state.connections
        }
        for connection in connections { connection.release() }
    }

    private func connect() throws -> Socket {
        let daemon = try base.connect()
        let (near, far) = try Socket.pair()
        let connection = ScriptedConnection(
            client: far, daemon: daemon, fate: { [self] in fate() },
            countReadRequest: { [self] in state.withLock { $0.readRequests += 1 } })
        let isHolding = try state.withLock { state in
            if state.refusesConnections {
                throw TandemError(.disconnected, "the script refuses all connections")
            }
            state.connections.removeAll { $0.isOver }
            state.connections.append(connection)
            return state.isHolding
        }
        if isHolding { connection.hold() }
        try connection.start()
        return near
    }

    private func fate() -> Fate {
        state.withLock { state in
            state.saves += 1
            return state.fates.isEmpty ? .answered : state.fates.removeFirst()
        }
    }
}
