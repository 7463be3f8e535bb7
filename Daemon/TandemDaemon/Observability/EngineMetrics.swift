import TandemModel

/// The reason why the daemon refused or ended a connection.
enum Refusal: String, CaseIterable {
    /// The limit on connections has been reached.
    case connections
    /// The user's limit on connections has been reached.
    case userConnections
    /// The user has no role, or one too low for the model declared in the hello.
    case role
    /// The model declared in the hello is incompatible with the store's.
    case model
    /// An administrator ended the connection.
    case administrator
    /// No file descriptors are left, or a connection could not be accepted.
    case descriptors
    /// The hello did not arrive in time.
    case handshake
    /// Incomplete messages took too long or exceeded their size limit.
    case unfinished
    /// The received bytes are not a valid message.
    case malformed
    /// The protocol doesn't allow the order or the number of the messages.
    case usage
    /// The client sends requests without reading its answers.
    case queue
    /// The journal no longer has the transactions that the client needs next.
    case expired
    /// The transactions that the client needs next can't be read from the journal.
    case unreadable

    /// Creates the reason for ending a connection whose hello failed.
    init(helloFailedWith code: TandemError.Code) {
        switch code {
        case .denied: self = .role
        case .schemaMismatch: self = .model
        default: self = .usage
        }
    }
}

/// The engine's own counters, for `tandem status` and `tandem metrics`.
struct EngineMetrics {
    /// The time from the arrival of a save at the daemon to its answer at the socket.
    var saves = Histogram()
    /// The time from the end of a flush until the last session was served its transactions.
    var fanOut = Histogram()
    /// The slowest recent requests.
    var slow = SlowRequests()
    /// The number of accepted connections.
    var opened: UInt64 = 0
    /// The number of requests denied because of a role.
    var deniedRequests: UInt64 = 0
    /// The number of cancelled requests.
    var cancelledRequests: UInt64 = 0
    /// The number of cancel messages for requests that were already answered or can't be cancelled.
    var lateCancels: UInt64 = 0
    /// The number of bytes received from clients.
    var received: UInt64 = 0
    /// The number of bytes sent to clients that have disconnected.
    var sentBefore: UInt64 = 0
    private var refusals: [Refusal: UInt64] = [:]
    private var refusedSaves: [TandemError.Code: UInt64] = [:]

    mutating func record(_ refusal: Refusal) { refusals[refusal, default: 0] += 1 }

    mutating func record(refusedSave code: TandemError.Code) { refusedSaves[code, default: 0] += 1 }

    /// The number of connections refused or ended, for any reason.
    var refused: UInt64 { refusals.values.reduce(0, +) }

    /// The counts of all reasons, and those of the error codes that occurred.
    var refusalsJSON: (connections: JSON, saves: JSON) {
        let connections = Refusal.allCases.map {
            ($0.rawValue, JSON.int(Int64(clamping: refusals[$0] ?? 0)))
        }
        let saves = refusedSaves.map { ($0.key.rawValue, JSON.int(Int64(clamping: $0.value))) }
        return (
            .object(Dictionary(uniqueKeysWithValues: connections)),
            .object(Dictionary(uniqueKeysWithValues: saves))
        )
    }
}
