import TandemModel
import TandemWire

/// The daemon's promise to a pinned context that it can go on reading where it stands; given up when nobody holds it.
final class Pin {
    let lease: UInt32
    /// The position that it is for; nil until it is taken.
    private(set) var held: UInt64?
    /// When half of its time is over, by the connection's clock.
    private var halfTime: UInt64 = 0
    private let connection: Connection

    init(_ connection: Connection) {
        self.connection = connection
        lease = connection.state.withLock { state in
            state.lastPin += 1
            return state.lastPin
        }
    }

    deinit { connection.giveUp(lease) }

    /// Notes that the daemon knows nothing of it: it is of another log or epoch.
    func forget() { held = nil }

    /// Lets the daemon keep another position from now on, unless it is this one already.
    func takeStep(at position: UInt64, isRenewed: Bool = false) throws -> Step<Void> {
        if held == position, !isRenewed { return .done(()) }
        let request = PinRequest(lease: lease, position: position)
        let start = connection.clock.monotonicNanoseconds
        return .ask(.pin(request)) {
            if case .pinned(let answer) = $0 { answer } else { nil }
        } then: { (answer: PinAnswer) in
            self.held = position
            self.halfTime = start &+ min(answer.seconds, UInt64(UInt32.max)) &* 500_000_000
            self.connection.state.withLock { $0.pins[self.lease] = position }
            return .done(())
        }
    }

    /// Lets the daemon keep a position for the whole time again, if half of it is over.
    func renewStep(at position: UInt64) throws -> Step<Void> {
        let isOld = connection.clock.monotonicNanoseconds >= halfTime
        return try takeStep(at: position, isRenewed: isOld)
    }
}

extension Connection {
    fileprivate func giveUp(_ lease: UInt32) {
        let isReady = state.withLock { state in
            state.pins.removeValue(forKey: lease) != nil && state.phase == .ready
        }
        // With a lost connection it ended anyway.
        if isReady { _ = submit(.pin(PinRequest(lease: lease, position: 0))) }
    }
}

extension ConnectionState {
    /// Requests that take all pins again; whose fails finds its pin ended.
    var repeatedPins: [PendingRequest] {
        pins.sorted { $0.key < $1.key }.map { lease, position in
            PendingRequest(
                message: .pin(PinRequest(lease: lease, position: position)), reply: Reply(),
                deadline: 0)
        }
    }
}
