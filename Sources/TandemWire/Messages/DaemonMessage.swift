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

    /// The type bytes, which never change.
    package enum Kind: UInt8, Hashable, Sendable, CaseIterable {
        /// The answer to a hello.
        case welcome = 64
        /// A transaction that matches the session's interests.
        case transaction
        /// A progress mark.
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
        /// The answer to any failed request.
        case failure
        /// The answer to `blob`.
        case blob
        /// The daemon's read-only state.
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
        /// A chunk of the answer to `fetch`.
        case part
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

    /// Returns the name of a type byte, or nil if it is unknown.
    package static func name(type: UInt8) -> String? {
        Kind(rawValue: type).map { "\($0)" }
    }

    /// Returns the largest payload of a type in bytes, or nil if the type is unknown.
    package static func maximumBytes(type: UInt8) -> Int? {
        Kind(rawValue: type) == nil ? nil : WireLimits.daemonMessageBytes
    }

    /// Returns the rule for the id.
    ///
    /// The id is 0 for the welcome and for pushes, including `state`. A failure may have any id,
    /// and all other messages answer a request.
    package static func requestID(type: UInt8) -> RequestIDRule {
        switch Kind(rawValue: type) {
        case .welcome, .transaction, .progress, .state: .zero
        case .failure, nil: .any
        default: .request
        }
    }
}
