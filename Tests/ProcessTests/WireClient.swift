import Synchronization
import TandemIO
import TandemModel
import TandemWire
import TestSupport

/// A blocking client that works on raw frames, for one thread.
final class WireClient {
    struct Closed: Error {}

    private let socket: Socket
    private var decoder = DaemonMessageDecoder()
    private var machine: ClientConnectionStateMachine
    private var assembler = AnswerAssembler()
    private(set) var welcome: Welcome
    /// The read-only states that the daemon has announced.
    private(set) var states: [StatePush] = []
    /// Called with every push, after the check that no push was missed.
    var onPush: (TransactionPush) -> Void = { _ in }

    init(_ path: String, _ hello: Hello) throws {
        socket = try Socket.connect(path: path)
        machine = ClientConnectionStateMachine(hello: hello)
        _ = machine.connected()
        var bytes: [UInt8] = []
        try FrameEncoder.encode(ClientMessage.hello(hello), into: &bytes)
        try socket.writeAll(bytes)
        welcome = Welcome(
            log: LogID(high: 0, low: 0), epoch: 0, position: 0,
            resumed: false, model: nil, lease: Lease(first: 0, count: 0, epoch: 0))
        let first = try next().message
        if case .failure(let error) = first { throw error }
        guard case .welcome(let welcome) = first else { throw Closed() }
        self.welcome = welcome
        if case .close(let error) = machine.received(welcome) { throw error }
    }

    var cursor: Position {
        Position(log: welcome.log, epoch: welcome.epoch, number: machine.cursor)
    }

    /// Returns the next message; throws ``Closed`` if the daemon has closed the connection.
    private func next() throws -> Envelope<DaemonMessage> {
        var buffer = [UInt8](repeating: 0, count: 64 << 10)
        while true {
            if let envelope = try decoder.next() { return envelope }
            let count = try buffer.withUnsafeMutableBytes { try socket.readSome(into: $0) }
            guard count > 0 else { throw Closed() }
            decoder.append(Array(buffer[..<count]))
        }
    }

    /// Receives one message; returns it if it completes an answer, and nil for a push or a state.
    func receive() throws -> Envelope<DaemonMessage>? {
        let envelope = try next()
        if case .state(let state) = envelope.message {
            states.append(state)
            return nil
        }
        guard case .transaction(let push) = envelope.message else {
            _ = machine.received(
                answer: envelope.id, position: envelope.message.announcedPosition,
                isLast: envelope.message.isLastOfAnswer)
            return assembler.consume(envelope)
        }
        let position = push.transaction.position
        guard machine.received(push: push.previous, position: position) == .deliver else {
            throw TandemError(.usage, "a gap before \(position): \(push.previous)")
        }
        onPush(push)
        return nil
    }

    /// Sends a request and waits for its answer.
    func ask(_ message: ClientMessage) throws -> DaemonMessage {
        let id = try machine.begin()
        var bytes: [UInt8] = []
        try FrameEncoder.encode(message, id: id, into: &bytes)
        try socket.writeAll(bytes)
        while true {
            if let envelope = try receive(), envelope.id == id { return envelope.message }
        }
    }

    /// Writes bytes that need not form a message.
    func write(_ bytes: [UInt8]) throws { try socket.writeAll(bytes) }

    /// Ends the connection.
    func close() { socket.shutdown() }
}
