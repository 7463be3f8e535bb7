import TandemIO
import TandemModel
import TandemWire

/// A connection of a scripted transport: two threads that forward messages, one in each direction.
final class ScriptedConnection: Sendable {
    private struct State {
        var isOver = false
        var isHolding = false
        /// The bytes of the daemon's messages that are held back.
        var held: [UInt8] = []
        /// The requests whose answers are dropped.
        var losing: Set<UInt32> = []
    }

    private let client: Socket
    private let daemon: Socket
    private let fate: @Sendable () -> ScriptedTransport.Fate
    private let countReadRequest: @Sendable () -> Void
    /// The state of the connection.
    ///
    /// The lock is also held during writes to the client, so that messages stay complete and in
    /// order.
    private let state = Locked(State())

    init(
        client: Socket, daemon: Socket, fate: @escaping @Sendable () -> ScriptedTransport.Fate,
        countReadRequest: @escaping @Sendable () -> Void
    ) {
        self.client = client
        self.daemon = daemon
        self.fate = fate
        self.countReadRequest = countReadRequest
    }

    var isOver: Bool { state.withLock { $0.isOver } }

    func start() throws {
        _ = try KernelThread.start(name: "script up") { [self] in
            forward(from: client) { (envelope: Envelope<ClientMessage>) in
                try handleRequest(envelope)
            }
        }
        _ = try KernelThread.start(name: "script down") { [self] in
            forward(from: daemon) { (envelope: Envelope<DaemonMessage>) in
                try handleAnswer(envelope)
            }
        }
    }

    /// Closes the connection; messages that are held back are lost.
    func end() {
        state.withLock { $0.isOver = true }
        client.shutdown()
        daemon.shutdown()
    }

    func hold() { state.withLock { $0.isHolding = true } }

    func release() {
        state.withLock { state in
            state.isHolding = false
            try? client.writeAll(state.held)
            state.held = []
        }
    }

    /// Forwards messages until one side closes or a message ends the connection.
    private func forward<Message>(
        from source: Socket, _ handle: (Envelope<Message>) throws -> Bool
    ) {
        defer { end() }
        var decoder = FrameDecoder<Message>()
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while let count = try? buffer.withUnsafeMutableBytes({ try source.readSome(into: $0) }),
            count > 0
        {
            decoder.append(Array(buffer[..<count]))
            do {
                while let envelope = try decoder.next() {
                    guard try handle(envelope) else { return }
                }
            } catch {
                return
            }
        }
    }

    /// Handles a message from the client; returns false to end the connection.
    private func handleRequest(_ envelope: Envelope<ClientMessage>) throws -> Bool {
        if envelope.message.saves {
            switch fate() {
            case .answered: break
            case .lost: state.withLock { _ = $0.losing.insert(envelope.id) }
            case .cut: return false
            case .refused(let error):
                try send(Envelope(id: envelope.id, message: .failure(error)))
                return true
            }
        }
        var bytes: [UInt8] = []
        try FrameEncoder.encode(envelope.message, id: envelope.id, into: &bytes)
        // Counted before the daemon can answer, so that a client that has the answer reads the
        // correct count.
        if envelope.message.isReadOnly { countReadRequest() }
        try daemon.writeAll(bytes)
        return true
    }

    /// Handles a message from the daemon; returns false to end the connection.
    private func handleAnswer(_ envelope: Envelope<DaemonMessage>) throws -> Bool {
        let isLost = state.withLock { envelope.id != 0 && $0.losing.remove(envelope.id) != nil }
        if isLost { return false }
        try send(envelope)
        return true
    }

    private func send(_ envelope: Envelope<DaemonMessage>) throws {
        var bytes: [UInt8] = []
        try FrameEncoder.encode(envelope.message, id: envelope.id, into: &bytes)
        try state.withLock { state in
            if state.isHolding {
                state.held += bytes
            } else {
                try client.writeAll(bytes)
            }
        }
    }
}

extension ClientMessage {
    /// Whether the message is a save or contains rows of a batch insert.
    fileprivate var saves: Bool {
        switch self {
        case .save: true
        case .insert(let part): !part.rows.isEmpty
        default: false
        }
    }
}
