import TandemModel

/// Why a connection was refused or ended by the daemon.
enum Refusal: String, CaseIterable {
    /// There are as many connections as may be.
    case connections
    /// The user has as many connections as one may have.
    case userConnections
    /// The user has no role, or too low a one for the model that the hello brought.
    case role
    /// The hello brought a model that does not fit the store's.
    case model
    /// An administrator ended it.
    case administrator
    /// No descriptors are left, or the kernel gave no connection.
    case descriptors
    /// No hello came in time.
    case handshake
    /// Messages began whose rest did not come in time, or too many.
    case unfinished
    /// What came is no message.
    case malformed
    /// The messages came in an order or number that the protocol does not allow.
    case usage
    /// The client sends without reading its answers.
    case queue
    /// What the client needs next is no longer in the journal.
    case expired
    /// What the client needs next can't be read from the journal.
    case unreadable

    /// Why a hello that failed with an error ends its connection.
    init(helloFailedWith code: TandemError.Code) {
        switch code {
        case .denied: self = .role
        case .schemaMismatch: self = .model
        default: self = .usage
        }
    }
}

/// What the engine counts beside the committer's counters, for `tandem status` and `tandem metrics`.
struct EngineMetrics {
    /// From the arrival of a save at the daemon to its answer at the socket.
    var saves = Histogram()
    /// From the end of a flush until the last session was served what it brought.
    var fanOut = Histogram()
    /// What clients waited for longest lately.
    var slow = SlowRequests()
    /// Connections that were taken in.
    var opened: UInt64 = 0
    /// Requests that a role did not allow.
    var deniedRequests: UInt64 = 0
    /// Questions that their clients gave up.
    var cancelledRequests: UInt64 = 0
    /// Attempts to give up what was no question, or answered already.
    var lateCancels: UInt64 = 0
    /// Bytes that came from clients.
    var received: UInt64 = 0
    /// Bytes that went to clients that are gone.
    var sentBefore: UInt64 = 0
    private var refusals: [Refusal: UInt64] = [:]
    private var refusedSaves: [TandemError.Code: UInt64] = [:]

    mutating func note(_ refusal: Refusal) { refusals[refusal, default: 0] += 1 }

    mutating func note(refusedSave code: TandemError.Code) { refusedSaves[code, default: 0] += 1 }

    /// Connections refused or ended, for any reason.
    var refused: UInt64 { refusals.values.reduce(0, +) }

    /// Counts by reason, all reasons; by error, those that occurred.
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
