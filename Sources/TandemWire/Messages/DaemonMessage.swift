package import TandemModel

/// A message from the daemon to the client.
///
/// The enum is indirect because its payloads are large and often passed on; copying a message only
/// copies a reference.
package indirect enum DaemonMessage: WireMessage {
    /// The answer to a hello.
    case welcome(Welcome)
    /// A pushed transaction that matches the session's interests.
    case transaction(TransactionPush)
    /// A pushed progress mark: no transaction up to a position matches the session's interests.
    case progress(ProgressPush)
    /// The answer to `fetch`.
    case fetched(FetchAnswer)
    /// A chunk of the answer to `fetch`, after its head.
    case part(FetchedChunk)
    /// The answer to `read`.
    case objects(ReadAnswer)
    /// The answer to `save`.
    case saved(SaveAnswer)
    /// The answer to `verdicts`.
    case verdicts(Verdicts)
    /// The answer to `sync`: the durable tail.
    case synced(position: UInt64)
    /// The answer to `history`.
    case history(History)
    /// The answer to `lease`.
    case lease(Lease)
    /// The answer to `schema`.
    case schema(SchemaAnswer)
    /// The answer to `status`: JSON.
    case status(String)
    /// The answer to any failed request; a failure with request id 0 ends the connection.
    case failure(TandemError)
    /// The answer to `blob`: the content.
    case blob([UInt8])
    /// The daemon's read-only state, pushed when it changes.
    case state(StatePush)
    /// The answer to `disconnect`: whether the client or request existed.
    case disconnected(Bool)
    /// The answer to `consumer`: the acknowledged position.
    case consumer(ConsumerAnswer)
    /// The answer to `batch`: its progress.
    case batched(BatchAnswer)
    /// The answer to `pin`: its position and duration.
    case pinned(PinAnswer)
    /// The answer to `insert`: the batch's progress.
    case inserted(BatchInsertAnswer)
    /// The answer to `explain`.
    case explained(ExplainAnswer)
    /// The answer to `vacuum`: the removed segments, and the readers that need the selected ones.
    case vacuumed(VacuumAnswer)

    /// The message types of daemons; the type bytes never change.
    package enum Kind: UInt8, MessageKind {
        case welcome = 64
        case transaction, progress, fetched, objects, saved, verdicts, synced, history, lease
        case schema, status, failure, blob, state, disconnected, consumer, batched, pinned
        case inserted, explained
        case vacuumed = 88
        case part

        /// The rules for messages of this type.
        ///
        /// The request id is 0 for the welcome and for pushes, including `state`. A failure may
        /// have any id, and all other messages answer a request.
        package var rules: MessageRules {
            let requestID: RequestIDRule =
                switch self {
                case .welcome, .transaction, .progress, .state: .zero
                case .failure: .any
                default: .request
                }
            return MessageRules(
                requestID: requestID, maximumBytes: WireLimits.daemonMessageBytes)
        }
    }

    /// The position that an answer announces, to which the session's cursor moves.
    ///
    /// Nil for pushes, which name a predecessor, and for answers that announce nothing.
    package var announcedPosition: UInt64? {
        switch self {
        case .fetched(let answer): answer.position
        case .objects(let answer): answer.position
        case .saved(let answer): answer.position
        case .verdicts(let answer): answer.position
        case .synced(let position): position
        case .schema(let answer): answer.position
        case .batched(let answer): answer.position
        case .inserted(let answer): answer.position
        case .welcome, .transaction, .progress, .part, .history, .lease, .status, .failure, .blob,
            .state, .disconnected, .consumer, .pinned, .explained, .vacuumed:
            nil
        }
    }

    /// Whether this is the last message of its answer.
    package var isLastOfAnswer: Bool {
        switch self {
        case .fetched(let answer): !answer.hasMore
        case .part(let part): !part.hasMore
        default: true
        }
    }
}
