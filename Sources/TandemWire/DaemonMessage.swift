public import TandemModel

/// A message from daemon to client.
///
/// What it carries is large and handed from one to another: so it is copied by reference.
public indirect enum DaemonMessage: WireMessage {
    /// The answer to a hello.
    case welcome(Welcome)
    /// A transaction of interest, pushed.
    case transaction(TransactionPush)
    /// Nothing of interest up to a position, pushed.
    case progress(ProgressPush)
    /// The answer to `fetch`.
    case fetched(Fetched)
    /// A part of the answer to `fetch`, behind that.
    case part(FetchedPart)
    /// The answer to `read`.
    case objects(Objects)
    /// The answer to `save`.
    case saved(Saved)
    /// The answer to `verdicts`.
    case verdicts(Verdicts)
    /// The answer to `sync`: the durable end.
    case synced(position: UInt64)
    /// The answer to `history`.
    case history(History)
    /// The answer to `lease`.
    case lease(Lease)
    /// The answer to `schema`.
    case schema(SchemaAnswer)
    /// The answer to `status`: JSON.
    case status(String)
    /// The answer to any request that failed; with request id 0 the connection ends.
    case failure(TandemError)
    /// The answer to `blob`: the content.
    case blob([UInt8])
    /// Whether saves are taken, pushed when it changes.
    case state(StatePush)
    /// The answer to `disconnect`: whether there was such a client.
    case disconnected(Bool)
    /// The answer to `consumer`: what it acknowledged.
    case consumer(ConsumerAnswer)
    /// The answer to `batch`: how far it came.
    case batched(Batched)
    /// The answer to `pin`: where it is and for how long.
    case pinned(PinAnswer)
    /// The answer to `insert`: how far the batch came.
    case inserted(BatchInserted)
    /// The answer to `explain`.
    case explained(Explained)
    /// The answer to `vacuum`: what went, and who needs the rest.
    case vacuumed(Vacuumed)

    /// The type bytes, which never change.
    public enum Kind: UInt8, Hashable, Sendable, CaseIterable {
        /// The answer to a hello.
        case welcome = 64
        /// A transaction of interest.
        case transaction
        /// Nothing of interest up to a position.
        case progress
        /// The answer to `fetch`.
        case fetched
        /// The answer to `read`.
        case objects
        /// The answer to `save`.
        case saved
        /// The answer to `verdicts`.
        case verdicts
        /// The answer to `sync`.
        case synced
        /// The answer to `history`.
        case history
        /// The answer to `lease`.
        case lease
        /// The answer to `schema`.
        case schema
        /// The answer to `status`.
        case status
        /// The answer to any request that failed.
        case failure
        /// The answer to `blob`.
        case blob
        /// Whether saves are taken.
        case state
        /// The answer to `disconnect`.
        case disconnected
        /// The answer to `consumer`.
        case consumer
        /// The answer to `batch`.
        case batched
        /// The answer to `pin`.
        case pinned
        /// The answer to `insert`.
        case inserted
        /// The answer to `explain`.
        case explained
        /// The answer to `vacuum`.
        case vacuumed = 88
        /// A part of the answer to `fetch`.
        case part
    }

    /// The position that an answer announces, which moves the session's cursor.
    ///
    /// Nil for pushes, which name a predecessor, and for answers that announce nothing.
    public var announcedPosition: UInt64? {
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

    /// Whether no part of the same answer follows.
    public var isLastOfAnswer: Bool {
        switch self {
        case .fetched(let answer): !answer.hasMore
        case .part(let part): !part.hasMore
        default: true
        }
    }

    /// The name of a type byte, nil if it is unknown.
    public static func name(type: UInt8) -> String? {
        Kind(rawValue: type).map { "\($0)" }
    }

    /// The largest payload of a type in bytes, nil if it is unknown.
    public static func maximumBytes(type: UInt8) -> Int? {
        Kind(rawValue: type) == nil ? nil : WireLimits.daemonMessageBytes
    }

    /// 0 for welcome and pushes, of state too; any for a failure; all others answer a request.
    public static func requestID(type: UInt8) -> RequestIDRule {
        switch Kind(rawValue: type) {
        case .welcome, .transaction, .progress, .state: .zero
        case .failure, nil: .any
        default: .request
        }
    }
}
