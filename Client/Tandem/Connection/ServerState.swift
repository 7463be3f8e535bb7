public import TandemModel

/// The daemon's state as known to a connection.
struct ServerState: Sendable {
    /// The store's model.
    var model: CompiledModel
    /// The log's random id.
    var log: LogID
    /// The log's epoch.
    var epoch: UInt32
    /// A number that increases when the stream is interrupted; contexts then have to restart.
    var generation: Int
    /// The last announced position.
    var position: UInt64

    /// Returns the position with this number in the log; it is also valid outside the process.
    func position(_ number: UInt64) -> Position {
        Position(log: log, epoch: epoch, number: number)
    }
}

/// A change in the state of the connection.
public struct ConnectionEvent: Hashable, Sendable {
    /// The kinds of changes.
    public enum State: String, Hashable, Sendable {
        /// The daemon can't be reached; requests wait.
        case lost
        /// The connection was restored; waiting requests are sent.
        case restored
        /// The daemon refuses saves (``ConnectionEvent/reason``); reads and deliveries continue.
        case readOnly
        /// The daemon accepts saves again.
        case writable
        /// A context could not merge saves by others (``ConnectionEvent/reason``); it retries or
        /// reloads.
        case mergeFailed
    }

    /// The kind of change.
    public var state: State
    /// The last received position.
    public var position: Position
    /// The number of preceding changes that were dropped because the reader was too slow.
    public var skipped = 0
    /// The reason why saves are refused, with a remedy, or why a context could not merge.
    ///
    /// Empty in other states.
    public var reason = ""
    /// The name of the context that could not merge; empty in other states.
    public var context = ""
    /// The error that kept a context from merging; nil in other states.
    public var error: TandemError?
}

/// A change that a connection reports immediately.
package enum ConnectionNotice: Hashable, Sendable {
    /// The connection was lost or restored, or the daemon refuses or accepts saves again.
    case connection(ConnectionEvent)
    /// A new model took effect at a position.
    case model(StableHash, Position)
}
