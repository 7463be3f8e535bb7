public import TandemModel

/// What a daemon does with one session, as a value: no socket, no clock.
///
/// The owner tells what happened and does what the answer says. The machine checks the order of
/// messages and the requests in flight, and holds the session's cursor, which every push names as
/// its predecessor. That every transaction up to an answer's position is pushed before the answer
/// is the owner's part. The table of states stands in <doc:Protocol>.
public struct DaemonSessionStateMachine: Hashable, Sendable {
    /// Where the session stands.
    public enum State: Hashable, Sendable {
        /// Nothing has come yet.
        case awaitingHello
        /// The hello is being looked at.
        case greeting
        /// Requests are taken, pushes are sent.
        case ready
        /// Over.
        case closed
    }

    /// What to do with a hello.
    public enum HelloAction: Hashable, Sendable {
        /// Check model and resume position, then send the welcome (``welcomed(cursor:)``).
        case greet
        /// Send this failure under id 0, then close.
        case refuse(TandemError)
        /// Drop it, the session is over.
        case ignore
    }

    /// What to do with a request.
    public enum RequestAction: Hashable, Sendable {
        /// Carry it out and answer (``answered(id:position:)``).
        case run
        /// Answer with this failure at once; the session goes on.
        case refuse(TandemError)
        /// Send this failure under id 0, then close.
        case close(TandemError)
        /// Drop it, the session is over.
        case ignore
    }

    /// What to do when time is up.
    public enum TimeoutAction: Hashable, Sendable {
        /// Say so by a failure under id 0, then close.
        case close
        /// Nothing, the hello has come.
        case none
    }

    /// Where the session stands.
    public private(set) var state = State.awaitingHello
    /// The last announced position: what the next push names as its predecessor.
    public private(set) var cursor: UInt64 = 0
    private var requests = RequestTable()

    /// A session that has just been accepted, with room for so many requests without an answer.
    public init(requestsInFlight: Int = WireLimits.requestsInFlight) {
        requests.limit = requestsInFlight
    }

    /// How many requests are without an answer.
    public var inFlightCount: Int { requests.count }

    // MARK: Handshake

    /// A hello has come.
    public mutating func received(_ hello: Hello) -> HelloAction {
        switch state {
        case .awaitingHello: break
        case .greeting, .ready:
            state = .closed
            return .refuse(TandemError(.usage, "A connection has one hello."))
        case .closed: return .ignore
        }
        guard hello.protocolVersion == WireLimits.protocolVersion else {
            state = .closed
            return .refuse(
                TandemError(
                    .usage,
                    "The client speaks protocol version \(hello.protocolVersion), this daemon "
                        + "\(WireLimits.protocolVersion); use releases of the same version."))
        }
        state = .greeting
        return .greet
    }

    /// The welcome is being sent: pushes begin after `cursor`.
    ///
    /// False when the session was closed meanwhile; then don't send it.
    public mutating func welcomed(cursor: UInt64) -> Bool {
        switch state {
        case .greeting:
            state = .ready
            self.cursor = cursor
            return true
        case .closed: return false
        case .awaitingHello, .ready:
            preconditionFailure("A welcome answers one hello.")
        }
    }

    /// The time that the daemon gives a client for its hello has passed since the beginning.
    public mutating func helloTimedOut() -> TimeoutAction {
        switch state {
        case .awaitingHello:
            state = .closed
            return .close
        case .greeting, .ready, .closed: return .none
        }
    }

    // MARK: Requests

    /// A request has come.
    public mutating func received(request id: UInt32) -> RequestAction {
        switch state {
        case .ready: break
        case .awaitingHello, .greeting:
            state = .closed
            return .close(TandemError(.usage, "Requests come after the welcome."))
        case .closed: return .ignore
        }
        guard id != 0, !requests.contains(id) else {
            state = .closed
            return .close(TandemError(.usage, "Request id \(id) is not free."))
        }
        guard !requests.isFull else { return .refuse(requests.limitError) }
        requests.insert(id)
        return .run
    }

    /// An answer, or a part of one, is being sent that announces `position`, or nothing if that is nil.
    ///
    /// False when nobody waits for it any more; then don't send it. The request is without an answer until the last part.
    public mutating func answered(id: UInt32, position: UInt64?, isLast: Bool = true) -> Bool {
        guard case .ready = state, isLast ? requests.remove(id) : requests.contains(id) else {
            return false
        }
        if let position { cursor = max(cursor, position) }
        return true
    }

    // MARK: Pushes

    /// A push at `position` is being sent; gives the predecessor that it has to name.
    ///
    /// Nil when there is nothing to send: the session is not ready or knows the position already.
    public mutating func pushing(_ position: UInt64) -> UInt64? {
        guard case .ready = state, position > cursor else { return nil }
        defer { cursor = position }
        return cursor
    }

    // MARK: End

    /// The session is over; gives the requests that nobody waits for any more, ascending.
    public mutating func closed() -> [UInt32] {
        state = .closed
        return requests.removeAll()
    }
}
