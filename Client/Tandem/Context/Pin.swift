import TandemModel
import TandemWire

/// A lease that makes the daemon keep a position readable for a pinned context; released with this
/// object.
final class Pin {
    let lease: UInt32
    /// The position of the lease, or nil if the daemon holds none.
    private(set) var held: UInt64?
    /// The time at which half of the lease's duration has passed, in nanoseconds of the
    /// connection's monotonic clock.
    private var halfTime: UInt64 = 0
    private let connection: Connection

    init(_ connection: Connection) {
        self.connection = connection
        lease = connection.state.withLock { state in
            state.pins.next()
        }
    }

    deinit { connection.releasePin(lease) }

    /// Marks the lease as unknown to the daemon, which now has a different log or epoch.
    func forget() { held = nil }

    /// Moves the lease to a position; does nothing if it is already there and `isRenewed` is false.
    func acquire(
        at position: UInt64, isRenewed: Bool = false, _ calls: DaemonCalls
    ) async throws {
        if held == position, !isRenewed { return }
        let request = PinRequest(lease: lease, position: position)
        let start = connection.clock.monotonicNanoseconds
        let answer: PinAnswer = try await calls.answer(to: .pin(request)) {
            if case .pinned(let answer) = $0 { answer } else { nil }
        }
        held = position
        halfTime = start &+ min(answer.seconds, UInt64(UInt32.max)) &* 500_000_000
        connection.state.withLock { $0.pins.hold(lease, at: position) }
    }

    /// Moves the lease to a position, and renews it if half of its duration has passed.
    func renew(at position: UInt64, _ calls: DaemonCalls) async throws {
        let isOld = connection.clock.monotonicNanoseconds >= halfTime
        try await acquire(at: position, isRenewed: isOld, calls)
    }
}

extension Connection {
    fileprivate func releasePin(_ lease: UInt32) {
        let isReady = state.withLock { state in
            state.pins.release(lease) && state.phase == .ready
        }
        // The loss of a connection ends its pins.
        if isReady { _ = submit(.pin(PinRequest(lease: lease, position: 0))) }
    }
}

extension ConnectionState {
    /// The requests that restore all pins on a new connection; if one fails, its pin has ended.
    var repeatedPins: [PendingRequest] {
        pins.positions.sorted { $0.key < $1.key }.map { lease, position in
            PendingRequest(
                message: .pin(PinRequest(lease: lease, position: position)), reply: ReplyPromise(),
                deadline: 0)
        }
    }
}
