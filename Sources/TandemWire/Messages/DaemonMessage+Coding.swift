package import TandemModel

extension DaemonMessage {
    /// The type of the message.
    package var kind: Kind {
        switch self {
        case .welcome: .welcome
        case .transaction: .transaction
        case .progress: .progress
        case .fetched: .fetched
        case .part: .part
        case .objects: .objects
        case .saved: .saved
        case .verdicts: .verdicts
        case .synced: .synced
        case .history: .history
        case .lease: .lease
        case .schema: .schema
        case .status: .status
        case .failure: .failure
        case .blob: .blob
        case .state: .state
        case .disconnected: .disconnected
        case .consumer: .consumer
        case .batched: .batched
        case .pinned: .pinned
        case .inserted: .inserted
        case .explained: .explained
        case .vacuumed: .vacuumed
        }
    }

    /// Appends the payload.
    package func encodePayload(into writer: inout ByteWriter) {
        switch self {
        case .welcome(let message): message.encode(into: &writer)
        case .transaction(let message): message.encode(into: &writer)
        case .progress(let message): message.encode(into: &writer)
        case .fetched(let message): message.encode(into: &writer)
        case .part(let message): message.encode(into: &writer)
        case .objects(let message): message.encode(into: &writer)
        case .saved(let message): message.encode(into: &writer)
        case .verdicts(let message): message.encode(into: &writer)
        case .synced(let position): writer.uint64(position)
        case .history(let message): message.encode(into: &writer)
        case .lease(let message): message.encode(into: &writer)
        case .schema(let message): message.encode(into: &writer)
        case .status(let text): writer.string(text)
        case .failure(let error): error.encode(into: &writer)
        case .blob(let content): writer.blob(content)
        case .state(let message): message.encode(into: &writer)
        case .disconnected(let wasThere): writer.bool(wasThere)
        case .consumer(let message): message.encode(into: &writer)
        case .batched(let message): message.encode(into: &writer)
        case .pinned(let message): message.encode(into: &writer)
        case .inserted(let message): message.encode(into: &writer)
        case .explained(let message): message.encode(into: &writer)
        case .vacuumed(let message): message.encode(into: &writer)
        }
    }

    /// Reads the payload of a message or throws `CodingError`.
    package init(_ kind: Kind, from reader: inout ByteReader) throws(CodingError) {
        switch kind {
        case .welcome: self = .welcome(try Welcome(from: &reader))
        case .transaction: self = .transaction(try TransactionPush(from: &reader))
        case .progress: self = .progress(try ProgressPush(from: &reader))
        case .fetched: self = .fetched(try FetchAnswer(from: &reader))
        case .part: self = .part(try FetchedChunk(from: &reader))
        case .objects: self = .objects(try ReadAnswer(from: &reader))
        case .saved: self = .saved(try SaveAnswer(from: &reader))
        case .verdicts: self = .verdicts(try Verdicts(from: &reader))
        case .synced: self = .synced(position: try reader.uint64())
        case .history: self = .history(try History(from: &reader))
        case .lease: self = .lease(try Lease(from: &reader))
        case .schema: self = .schema(try SchemaAnswer(from: &reader))
        case .status: self = .status(try reader.string())
        case .failure: self = .failure(try TandemError(from: &reader))
        case .blob: self = .blob(try reader.blob())
        case .state: self = .state(try StatePush(from: &reader))
        case .disconnected: self = .disconnected(try reader.bool())
        case .consumer: self = .consumer(try ConsumerAnswer(from: &reader))
        case .batched: self = .batched(try BatchAnswer(from: &reader))
        case .pinned: self = .pinned(try PinAnswer(from: &reader))
        case .inserted: self = .inserted(try BatchInsertAnswer(from: &reader))
        case .explained: self = .explained(try ExplainAnswer(from: &reader))
        case .vacuumed: self = .vacuumed(try VacuumAnswer(from: &reader))
        }
    }
}
