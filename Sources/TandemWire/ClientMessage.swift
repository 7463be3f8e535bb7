public import TandemModel

/// A message from client to daemon.
///
/// What it carries is large and handed from one to another: so it is copied by reference.
public indirect enum ClientMessage: WireMessage {
    /// The first message; answered by `welcome`.
    case hello(Hello)
    /// Objects of a request; answered by `fetched`.
    case fetch(Fetch)
    /// Rows and members by reference; answered by `objects`.
    case read(Read)
    /// One transaction to write; answered by `saved`.
    case save(SaveRequest)
    /// What changed for lists; answered by `verdicts`.
    case verdicts(VerdictRequest)
    /// A wait for a position; answered by `synced`.
    case sync(Sync)
    /// Transactions of the past; answered by `history`.
    case history(HistoryRequest)
    /// A block of object numbers; answered by `lease`.
    case lease(count: UInt32)
    /// The model; answered by `schema`.
    case schema(SchemaRequest)
    /// The daemon's state; answered by `status`.
    case status
    /// The content of a blob; answered by `blob`.
    case blob(BlobReference)
    /// The end of another client's connection, by its number in the status; answered by `disconnected`.
    ///
    /// With a request the connection goes on, and only that question of it ends, or with 0 all of them (``cancel``).
    case disconnect(client: UInt64, request: UInt32? = nil)
    /// A consumer of the journal that comes, moves on or goes; answered by `consumer`.
    case consumer(ConsumerRequest)
    /// All objects of a request to delete or to change; answered by `batched`.
    case batch(Batch)
    /// A pin that is taken, moved or given up; answered by `pinned`.
    case pin(PinRequest)
    /// Rows of a batch insert; answered by `inserted`.
    case insert(BatchInsert)
    /// How a fetch is carried out; answered by `explained`.
    case explain(Fetch)
    /// The oldest part of the journal to be given up; answered by `vacuumed`.
    case vacuum(VacuumRequest)
    /// The end of the question whose id it has (``isQuestion``); that is answered by `failure` then, or as ever.
    case cancel
    /// The daemon's configuration to be read again; answered by `status`.
    case reload

    /// The type bytes, which never change.
    public enum Kind: UInt8, Hashable, Sendable, CaseIterable {
        /// The first message.
        case hello = 1
        /// Objects of a request.
        case fetch
        /// Rows and members by reference.
        case read
        /// One transaction to write.
        case save
        /// What changed for lists.
        case verdicts
        /// A wait for a position.
        case sync
        /// Transactions of the past.
        case history
        /// A block of object numbers.
        case lease
        /// The model.
        case schema
        /// The daemon's state.
        case status
        /// The content of a blob.
        case blob
        /// The end of another client's connection.
        case disconnect
        /// A consumer of the journal that comes, moves on or goes.
        case consumer
        /// All objects of a request to delete or to change.
        case batch
        /// A pin that is taken, moved or given up.
        case pin
        /// Rows of a batch insert.
        case insert
        /// How a fetch is carried out.
        case explain
        /// The oldest part of the journal to be given up.
        case vacuum = 20
        /// The end of a question.
        case cancel
        /// The configuration to be read again.
        case reload
    }

    /// The kind of message.
    public var kind: Kind {
        switch self {
        case .hello: .hello
        case .fetch: .fetch
        case .read: .read
        case .save: .save
        case .verdicts: .verdicts
        case .sync: .sync
        case .history: .history
        case .lease: .lease
        case .schema: .schema
        case .status: .status
        case .blob: .blob
        case .disconnect: .disconnect
        case .consumer: .consumer
        case .batch: .batch
        case .pin: .pin
        case .insert: .insert
        case .explain: .explain
        case .vacuum: .vacuum
        case .cancel: .cancel
        case .reload: .reload
        }
    }

    /// Whether it asks and does nothing else, so that it may be given up (``cancel``).
    public var isQuestion: Bool {
        switch self {
        case .fetch, .read, .verdicts, .sync, .history, .status, .blob, .explain: true
        case .hello, .save, .lease, .schema, .disconnect, .consumer, .batch, .pin, .insert,
            .vacuum, .cancel, .reload:
            false
        }
    }

    /// The type byte.
    public var type: UInt8 { kind.rawValue }

    /// Appends the payload.
    public func encodePayload(into writer: inout ByteWriter) {
        switch self {
        case .hello(let message): message.encode(into: &writer)
        case .fetch(let message): message.encode(into: &writer)
        case .read(let message): message.encode(into: &writer)
        case .save(let message): message.encode(into: &writer)
        case .verdicts(let message): message.encode(into: &writer)
        case .sync(let message): message.encode(into: &writer)
        case .history(let message): message.encode(into: &writer)
        case .lease(let count): writer.uint32(count)
        case .schema(let message): message.encode(into: &writer)
        case .status, .cancel, .reload: break
        case .blob(let blob): writer.raw(blob.bytes)
        case .disconnect(let client, let request):
            writer.uint64(client)
            writer.optional(request) { $0.uint32($1) }
        case .consumer(let message): message.encode(into: &writer)
        case .batch(let message): message.encode(into: &writer)
        case .pin(let message): message.encode(into: &writer)
        case .insert(let message): message.encode(into: &writer)
        case .explain(let message): message.encode(into: &writer)
        case .vacuum(let message): message.encode(into: &writer)
        }
    }

    /// Reads the payload of a message or throws `CodingError`.
    public init(type: UInt8, from reader: inout ByteReader) throws(CodingError) {
        switch Kind(rawValue: type) {
        case .hello: self = .hello(try Hello(from: &reader))
        case .fetch: self = .fetch(try Fetch(from: &reader))
        case .read: self = .read(try Read(from: &reader))
        case .save: self = .save(try SaveRequest(from: &reader))
        case .verdicts: self = .verdicts(try VerdictRequest(from: &reader))
        case .sync: self = .sync(try Sync(from: &reader))
        case .history: self = .history(try HistoryRequest(from: &reader))
        case .lease: self = .lease(count: try reader.uint32())
        case .schema: self = .schema(try SchemaRequest(from: &reader))
        case .status: self = .status
        case .blob: self = .blob(try BlobReference(from: &reader))
        case .disconnect:
            self = .disconnect(
                client: try reader.uint64(),
                request: try reader.optional { reader throws(CodingError) in try reader.uint32() })
        case .consumer: self = .consumer(try ConsumerRequest(from: &reader))
        case .batch: self = .batch(try Batch(from: &reader))
        case .pin: self = .pin(try PinRequest(from: &reader))
        case .insert: self = .insert(try BatchInsert(from: &reader))
        case .explain: self = .explain(try Fetch(from: &reader))
        case .vacuum: self = .vacuum(try VacuumRequest(from: &reader))
        case .cancel: self = .cancel
        case .reload: self = .reload
        case nil: throw CodingError(expected: "a message of a client", offset: reader.offset)
        }
    }

    /// The name of a type byte, nil if it is unknown.
    public static func name(type: UInt8) -> String? {
        Kind(rawValue: type).map { "\($0)" }
    }

    /// The largest payload of a type in bytes, nil if it is unknown.
    public static func maximumBytes(type: UInt8) -> Int? {
        switch Kind(rawValue: type) {
        case nil: nil
        case .hello: WireLimits.helloBytes
        default: WireLimits.clientMessageBytes
        }
    }

    /// 0 for the hello; all others are requests, or are about one.
    public static func requestID(type: UInt8) -> RequestIDRule {
        type == Kind.hello.rawValue ? .zero : .request
    }
}
