import Tandem
import TandemDaemon
import TandemEmbedded
import TandemIO
import TandemModel
import TandemQuery
import TandemWire
import Testing

/// Connections to an embedded daemon that has stopped, in a process that lives on.
@Suite(.ownThread) struct StoppedDaemonTests {
    /// A client that reads single messages, each only when the test requests it.
    private final class RawClient {
        private let socket: Socket
        private var decoder = DaemonMessageDecoder()

        init(_ daemon: EmbeddedDaemon) throws {
            socket = try daemon.transport.connect()
            try socket.setReadTimeout(milliseconds: 30_000)
            try write(.hello(Hello(author: "raw")), id: 0)
        }

        func write(_ message: ClientMessage, id: UInt32) throws {
            var bytes: [UInt8] = []
            try FrameEncoder.encode(message, id: id, into: &bytes)
            _ = bytes.withUnsafeBytes { try? socket.write($0) }
        }

        /// Returns the next message; nil if the connection has ended.
        func next() throws -> DaemonMessage? {
            var buffer = [UInt8](repeating: 0, count: 4_096)
            while true {
                if let message = try decoder.next()?.message { return message }
                switch try buffer.withUnsafeMutableBytes({ try socket.read(into: $0) }) {
                case .closed: return nil
                case .wouldBlock: throw TandemError(.timeout, "the connection stays open")
                case .bytes(let count): decoder.append(Array(buffer[..<count]))
                }
            }
        }
    }

    @Test func `a daemon that stops closes a connection whose answer is not sent completely`()
        throws
    {
        var configuration = DaemonConfiguration.inMemory()
        configuration.limits.chunkBytes = 1
        let daemon = try EmbeddedDaemon(configuration)
        let container = PersistentContainer(
            entities: [Bucket.self, Content.self], transport: daemon.transport)
        let context = container.makeContext(name: "writer")
        let text = String(repeating: "x", count: 50_000)
        // More than a socket holds.
        for _ in 0..<100 { try context.insert(Content.self).name = text }
        try context.save()
        let client = try RawClient(daemon)
        guard case .welcome = try client.next() else { throw TandemError(.storage, "no welcome") }
        let fetch = Fetch(request: FetchDescriptor(entity: "Content"), kind: .rows)
        try client.write(.fetch(fetch), id: 1)
        guard case .fetched = try client.next() else { throw TandemError(.storage, "no answer") }
        try daemon.stop()
        while try client.next() != nil {}
    }

    @Test func `a daemon that has stopped refuses connections`() throws {
        let daemon = try EmbeddedDaemon(DaemonConfiguration.inMemory())
        try daemon.stop()
        #expect(try RawClient(daemon).next() == nil)
    }
}
