import Glibc
import Tandem
import TandemIO
import TandemModel
import TandemWire

/// A relay in front of a daemon's socket, which refuses verdict requests on demand.
///
/// While requests are refused, a context that needs a verdict to merge saves by others can't merge.
final class RefusingRelay: Sendable {
    /// The path of the relay's own socket.
    let path: String
    private let daemon: String
    /// The answer to verdict requests; nil if all messages are forwarded.
    private let refusal = Locked<TandemError?>(nil)
    /// Called with each message of a client before it is forwarded.
    private let watch = Locked<(@Sendable (ClientMessage) throws -> Void)?>(nil)

    /// Accepts connections at `path` and forwards them to the daemon at another path.
    init(_ path: String, to daemon: String) throws {
        self.path = path
        self.daemon = daemon
        let listener = Locked(try UnixListener.listen(path: path, mode: 0o600))
        // Blocking, because threads of the relay's own wait on the socket.
        listener.withLock { _ = fcntl($0.descriptor, F_SETFL, 0) }
        _ = try KernelThread.start(name: "relay") { [self] in
            while let client = try? listener.withLock({ try $0.accept() }) {
                _ = fcntl(client.descriptor, F_SETFL, 0)
                try? carry(client)
            }
        }
    }

    /// Answers verdict requests with this error from now on; nil forwards them again.
    func refuse(_ error: TandemError?) { refusal.withLock { $0 = error } }

    /// Sets a closure that is called with each message of a client before it is forwarded.
    func beforeForwarding(_ body: @escaping @Sendable (ClientMessage) throws -> Void) {
        watch.withLock { $0 = body }
    }

    private func carry(_ client: Socket) throws {
        let daemon = try Socket.connect(path: daemon)
        // Both threads write to the client, so each message must be written in one piece.
        let writing = Locked(())
        try start(from: client, to: daemon) {
            [self] (bytes: [UInt8], decoder: inout ClientMessageDecoder) in
            var handedOn: [UInt8] = []
            decoder.append(bytes)
            while let envelope = try decoder.next() {
                try watch.withLock { $0 }?(envelope.message)
                if case .verdicts = envelope.message, let error = refusal.withLock({ $0 }) {
                    var answer: [UInt8] = []
                    try FrameEncoder.encode(
                        DaemonMessage.failure(error), id: envelope.id, into: &answer)
                    try writing.withLock { _ in try client.writeAll(answer) }
                } else {
                    try FrameEncoder.encode(envelope.message, id: envelope.id, into: &handedOn)
                }
            }
            try daemon.writeAll(handedOn)
        }
        try start(from: daemon, to: client) {
            (bytes: [UInt8], decoder: inout DaemonMessageDecoder) in
            var handedOn: [UInt8] = []
            decoder.append(bytes)
            while let envelope = try decoder.next() {
                try FrameEncoder.encode(envelope.message, id: envelope.id, into: &handedOn)
            }
            try writing.withLock { _ in try client.writeAll(handedOn) }
        }
    }

    /// Starts a thread that forwards bytes from one socket to the other until either is closed.
    private func start<Message: WireMessage>(
        from source: Socket, to target: Socket,
        _ take: @escaping @Sendable ([UInt8], inout FrameDecoder<Message>) throws -> Void
    ) throws {
        _ = try KernelThread.start(name: "relay") {
            var decoder = FrameDecoder<Message>()
            var buffer = [UInt8](repeating: 0, count: 65_536)
            while let count = try? buffer.withUnsafeMutableBytes({
                try source.readSome(into: $0)
            }), count > 0 {
                guard (try? take(Array(buffer[..<count]), &decoder)) != nil else { break }
            }
            source.shutdown()
            target.shutdown()
        }
    }
}
