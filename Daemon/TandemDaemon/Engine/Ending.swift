import TandemModel
import TandemWire

/// The reason for ending a connection: the error that its client receives, and its counter.
struct Ending {
    let error: TandemError
    let refusal: Refusal

    init(_ error: TandemError, _ refusal: Refusal = .usage) {
        (self.error, self.refusal) = (error, refusal)
    }

    /// Creates an ending for a client that violates the protocol.
    init(_ reason: String, _ refusal: Refusal = .usage) {
        self.init(TandemError(.usage, "the connection is closed: \(reason)"), refusal)
    }

    /// Creates an ending for received bytes that violate the protocol or its limits.
    init(_ error: WireError, isReady: Bool, _ limits: DaemonLimits, _ counts: LimitCounters) {
        switch error.code {
        case .frameTooLarge:
            self.init(counts.refusal(.frameBytes, limits, "\(error)"), .malformed)
        case .messageTooLarge where isReady:
            self.init(counts.refusal(.transactionBytes, limits, "\(error)"), .malformed)
        default: self.init("\(error)", .malformed)
        }
    }
}
