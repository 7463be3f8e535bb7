import TandemModel
import TandemWire

extension FuzzTarget {
    /// All messages of both sides: decoding and encoding a message twice gives the same bytes.
    ///
    /// The first byte is the type, the rest is the payload.
    static let messages = FuzzTarget("messages", seeds: messageSeeds) { input in
        var input = FuzzInput(input)
        let type = input.byte()
        let payload = input.rest()
        if let message = try MessageProperties<ClientMessage>.check(type, payload) {
            try inspect(message)
        }
        if let message = try MessageProperties<DaemonMessage>.check(type, payload) {
            try inspect(message)
        }
    }

    @Sendable private static func messageSeeds() -> [[UInt8]] {
        var maker = MessageMaker(seed: 2)
        let client = ClientMessage.Kind.allCases.flatMap { kind in
            (0..<5).map { _ in [kind.rawValue] + payload(maker.message(kind)) }
        }
        let daemon = DaemonMessage.Kind.allCases.flatMap { kind in
            (0..<5).map { _ in [kind.rawValue] + payload(maker.message(kind)) }
        }
        return client + daemon
    }

    private static func payload(_ message: some WireMessage) -> [UInt8] {
        var writer = ByteWriter()
        message.encodePayload(into: &writer)
        return writer.bytes
    }

    // MARK: Contents

    private static func inspect(_ message: ClientMessage) throws {
        switch message {
        case .fetch(let fetch):
            try PredicateProperties.check(fetch.request)
            try fetch.columns.map { try ColumnProperties.check($0, fetch.request) }
        case .verdicts(let request):
            for item in request.items.prefix(4) { try PredicateProperties.check(item.request) }
        case .batch(let batch): try PredicateProperties.check(batch.request)
        case .hello(let hello): _ = try hello.model.map { try ModelProperties.check(text: $0) }
        default: break
        }
    }

    private static func inspect(_ message: DaemonMessage) throws {
        switch message {
        case .transaction(let push): try TransactionProperties.check(push.transaction)
        case .history(let history):
            for transaction in history.transactions { try TransactionProperties.check(transaction) }
        case .objects(let objects): for object in objects.objects { try inspect(object.row) }
        case .fetched(let fetched):
            for object in fetched.objects + fetched.related { try inspect(object.row) }
        case .part(let part): for object in part.objects { try inspect(object.row) }
        case .failure(let error): _ = error.description
        case .welcome(let welcome): _ = try welcome.model.map(ModelProperties.check(binary:))
        default: break
        }
    }

    private static func inspect(_ row: Row) throws {
        let graph = try SampleGraph.get()
        guard row.bytes.count >= RowLayout.minimumRowBytes,
            let entity = graph.model.entity(tagged: row.tag)
        else { return }
        try RowProperties.check(row, entity)
    }
}

/// The properties of the messages of one direction.
enum MessageProperties<Message: WireMessage> {
    /// Checks the payload of a message; returns the message, or nil if the payload is invalid.
    static func check(_ type: UInt8, _ payload: [UInt8]) throws -> Message? {
        guard Message.Kind(rawValue: type) != nil else { return nil }
        guard let message = decode(type, payload) else { return nil }
        try hold(message.type == type, "a message of type \(type) became one of \(message.type)")
        let bytes = encode(message)
        guard let again = decode(type, bytes) else {
            throw FuzzFinding("an encoded message can't be decoded: \(message)")
        }
        try hold(
            encode(again) == bytes, "a message changes when it is encoded and decoded: \(message)")
        return message
    }

    private static func decode(_ type: UInt8, _ payload: [UInt8]) -> Message? {
        var reader = ByteReader(payload)
        guard let message = try? Message(type: type, from: &reader), reader.isAtEnd else {
            return nil
        }
        return message
    }

    private static func encode(_ message: Message) -> [UInt8] {
        var writer = ByteWriter()
        message.encodePayload(into: &writer)
        return writer.bytes
    }
}
