package import TandemModel

/// A message from the client to the daemon.
///
/// The enum is indirect because its payloads are large and often passed on; copying a message only
/// copies a reference.
package indirect enum ClientMessage: WireMessage {
    /// The first message; answered by `welcome`.
    case hello(Hello)
    /// A request for the objects of a fetch; answered by `fetched`.
    case fetch(Fetch)
    /// A request for rows and members by reference; answered by `objects`.
    case read(Read)
    /// A transaction to write; answered by `saved`.
    case save(SaveRequest)
    /// A request for the changes to lists; answered by `verdicts`.
    case verdicts(VerdictRequest)
    /// A request to wait for a position; answered by `synced`.
    case sync(Sync)
    /// A request for past transactions; answered by `history`.
    case history(HistoryRequest)
    /// A request for a block of object numbers; answered by `lease`.
    case lease(count: UInt32)
    /// A request to read or install the model; answered by `schema`.
    case schema(SchemaRequest)
    /// A request for the daemon's status; answered by `status`.
    case status
    /// A request for the content of a blob; answered by `blob`.
    case blob(BlobReference)
    /// A request to end another client's connection; answered by `disconnected`. The client is
    /// identified by its number in the status.
    ///
    /// If `request` is given, the connection stays open, and only that request (see ``isReadOnly``)
    /// is cancelled; 0 cancels all of its requests.
    case disconnect(client: UInt64, request: UInt32? = nil)
    /// A request to register, acknowledge for, reset or remove a consumer of the journal; answered
    /// by `consumer`.
    case consumer(ConsumerRequest)
    /// A request to delete or change all objects that match a fetch request; answered by `batched`.
    case batch(Batch)
    /// A request to take, move or release a pin; answered by `pinned`.
    case pin(PinRequest)
    /// A chunk of a batch insert; answered by `inserted`.
    case insert(BatchInsert)
    /// A request for the plan of a fetch; answered by `explained`.
    case explain(Fetch)
    /// A request to remove the oldest segments of the journal; answered by `vacuumed`.
    case vacuum(VacuumRequest)
    /// A request to cancel the request with the same id, which must be a read-only one
    /// (``isReadOnly``).
    ///
    /// The cancelled request is then answered by `failure`, or as usual if it had already
    /// completed.
    case cancel
    /// A request to reload the daemon's configuration; answered by `status`.
    case reload

    /// The message types of clients; the type bytes never change.
    package enum Kind: UInt8, MessageKind {
        case hello = 1
        case fetch, read, save, verdicts, sync, history, lease, schema, status, blob, disconnect
        case consumer, batch, pin, insert, explain
        case vacuum = 20
        case cancel, reload

        package var rules: MessageRules {
            let maximum = WireLimits.clientMessageBytes
            switch self {
            case .hello:
                return MessageRules(requestID: .zero, maximumBytes: WireLimits.helloBytes)
            case .fetch, .read, .verdicts, .sync, .history, .status, .blob, .explain:
                return MessageRules(requestID: .request, maximumBytes: maximum, isReadOnly: true)
            case .save, .lease, .schema, .disconnect, .consumer, .batch, .pin, .insert, .vacuum,
                .cancel, .reload:
                return MessageRules(requestID: .request, maximumBytes: maximum)
            }
        }
    }

    /// The type of the message.
    package var kind: Kind {
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

    /// Whether the message is a request that only reads and may therefore be cancelled
    /// (``cancel``).
    package var isReadOnly: Bool { kind.rules.isReadOnly }

    /// Appends the payload.
    package func encodePayload(into writer: inout ByteWriter) {
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
    package init(_ kind: Kind, from reader: inout ByteReader) throws(CodingError) {
        switch kind {
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
        }
    }
}
