import TandemIO
import TandemModel
import TandemWire

/// A blocking client that may have several requests in flight.
final class FaultClient {
    /// The daemon closed the connection, because it is ending.
    struct Closed: Error {}

    /// The daemon rejected the client for lack of space, and continues.
    struct Refused: Error {}

    private let socket: Socket
    private var decoder = DaemonMessageDecoder()
    private var answers: [UInt32: DaemonMessage] = [:]
    private var lastID: UInt32 = 0
    let welcome: Welcome
    let entities: CompiledModel

    init(_ path: String, interests: [String] = []) throws {
        let hello = Hello(author: "fault", model: faultModel.json.text, interests: interests)
        socket = try Socket.connect(path: path)
        var bytes: [UInt8] = []
        try FrameEncoder.encode(ClientMessage.hello(hello), into: &bytes)
        try socket.writeAll(bytes)
        let answer = try Self.next(socket, &decoder).message
        guard case .welcome(let welcome) = answer, let model = welcome.model else {
            throw Refused()
        }
        self.welcome = welcome
        var reader = ByteReader(model)
        entities = try CompiledModel(from: &reader)
    }

    private static func next(
        _ socket: Socket, _ decoder: inout DaemonMessageDecoder
    ) throws -> Envelope<DaemonMessage> {
        var buffer = [UInt8](repeating: 0, count: 64 << 10)
        while true {
            if let envelope = try decoder.next() { return envelope }
            let count = try buffer.withUnsafeMutableBytes { try socket.readSome(into: $0) }
            guard count > 0 else { throw Closed() }
            decoder.append(Array(buffer[..<count]))
        }
    }

    /// Sends a request, and returns its id for ``answer(to:)``.
    func send(_ message: ClientMessage) throws -> UInt32 {
        lastID += 1
        var bytes: [UInt8] = []
        try FrameEncoder.encode(message, id: lastID, into: &bytes)
        try socket.writeAll(bytes)
        return lastID
    }

    /// Waits for an answer, and ignores pushes.
    func answer(to id: UInt32) throws -> DaemonMessage {
        while true {
            if let answer = answers.removeValue(forKey: id) { return answer }
            let envelope = try Self.next(socket, &decoder)
            if envelope.id != 0 { answers[envelope.id] = envelope.message }
        }
    }

    func ask(_ message: ClientMessage) throws -> DaemonMessage {
        try answer(to: try send(message))
    }

    func close() { socket.shutdown() }
}

/// A model with unique keys, an index, and every kind of link.
let faultModel = ManagedObjectModel {
    Entity("Note", uniqueness: [["key"]], indexes: [["rank"]]) {
        Attribute("key", .string)
        Attribute("text", .string)
        Attribute("data", .data)
        Attribute("rank", .int, default: .int(0))
        Relationship("next", to: "Note", inverse: "previous")
        Relationship("previous", to: "Note", inverse: "next", toMany: true)
        Relationship("tags", to: "Tag", inverse: "notes", toMany: true)
    }
    Entity("Tag") {
        Attribute("label", .string)
        Relationship("notes", to: "Note", inverse: "tags", toMany: true)
    }
}
