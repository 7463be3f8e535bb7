public import TandemModel

/// What is known of the daemon while a connection stands.
struct Session: Sendable {
    /// The store's model.
    var model: CompiledModel
    /// The log's random id.
    var log: LogID
    /// The log's epoch.
    var epoch: UInt32
    /// Rises when the stream of transactions was interrupted, so that contexts have to start anew.
    var generation: Int
    /// The last position that was announced.
    var position: UInt64

    /// A number of this log as a position that may leave the process.
    func position(_ number: UInt64) -> Position {
        Position(log: log, epoch: epoch, number: number)
    }
}

/// A change of the connection's state.
public struct ConnectionEvent: Hashable, Sendable {
    /// What became of the connection.
    public enum State: String, Hashable, Sendable {
        /// The daemon can't be reached; requests wait.
        case lost
        /// The connection stands again and goes on where it was.
        case restored
        /// The daemon takes no saves, with the reason; reads and deliveries go on.
        case readOnly
        /// The daemon takes saves again.
        case writable
        /// A context could not merge saves of others, with the reason; it tries again, or reloads.
        case mergeFailed
    }

    /// What became of the connection.
    public var state: State
    /// The last position that was received.
    public var position: Position
    /// How many changes right before this one a slow reader was not told of; see ``ClientLimits/bufferedConnectionEvents``.
    public var skipped = 0
    /// Why saves are refused, and what to do, or why a context could not merge; empty in other states.
    public var reason = ""
    /// The name of the context that could not merge; empty in other states.
    public var context = ""
    /// Why a context could not merge; nil in other states.
    public var error: TandemError?
}

/// What a connection tells of the moment it happens.
public enum ConnectionNotice: Hashable, Sendable {
    /// The connection was lost or restored, or saves are refused or taken again.
    case connection(ConnectionEvent)
    /// Another model took effect, at a position.
    case model(StableHash, Position)
}
