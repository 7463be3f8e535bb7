package import TandemModel

/// The state machine of a daemon's session, as a value without socket or clock.
///
/// The owner reports events and carries out the returned actions. The machine checks the order of
/// messages and the requests in flight. It also holds the session's cursor, which every push names
/// as its predecessor. Before an answer, the owner has to push every transaction up to
/// the answer's position. <doc:Protocol> has the table of states.
package struct DaemonSessionStateMachine: Hashable, Sendable {
    /// The state of the session.
    package enum State: Hashable, Sendable {
        /// No message has arrived.
        case awaitingHello
        /// The hello is being checked.
        case greeting
        /// Requests are accepted, and pushes are sent.
        case ready
        /// The session has ended.
        case closed
    }

    /// The action required by a hello.
    package enum HelloAction: Hashable, Sendable {
        /// Check model and resume position, then send the welcome (``welcomed(cursor:)``).
        case greet
        /// Send this failure with id 0, then close.
        case refuse(TandemError)
        /// Drop the hello: the session has ended.
        case ignore
    }

    /// The action required by a request.
    package enum RequestAction: Hashable, Sendable {
        /// Carry out the request and answer it (``answered(id:position:isLast:)``).
        case run
        /// Answer with this failure at once; the session continues.
        case refuse(TandemError)
        /// Send this failure with id 0, then close.
        case close(TandemError)
        /// Drop the request: the session has ended.
        case ignore
    }

    /// The action required by a timeout.
    package enum TimeoutAction: Hashable, Sendable {
        /// Report the timeout in a failure with id 0, then close.
        case close
        /// Do nothing: the hello has arrived.
        case none
    }

    /// The state of the session.
    package private(set) var state = State.awaitingHello
    /// The last announced position, which the next push names as its predecessor.
    package private(set) var cursor: UInt64 = 0
    private var requests = RequestTable()

    /// Creates the machine of a new session that allows at most `requestsInFlight` requests in
    /// flight.
    package init(requestsInFlight: Int = WireLimits.requestsInFlight) {
        requests.limit = requestsInFlight
    }

    /// The number of requests in flight.
    package var inFlightCount: Int { requests.count }

    // MARK: Handshake

    /// Records the arrival of a hello.
    package mutating func received(_ hello: Hello) -> HelloAction {
        switch state {
        case .awaitingHello: break
        case .greeting, .ready:
            state = .closed
            return .refuse(TandemError(.usage, "a connection must send only one hello"))
        case .closed: return .ignore
        }
        guard hello.protocolVersion == WireLimits.protocolVersion else {
            state = .closed
            return .refuse(
                TandemError(
                    .usage,
                    "the client speaks protocol version \(hello.protocolVersion), but this daemon speaks "
                        + "\(WireLimits.protocolVersion); use releases of the same version"))
        }
        state = .greeting
        return .greet
    }

    /// Records that the welcome is being sent; pushes begin after `cursor`.
    ///
    /// Returns false if the session was closed in the meantime; don't send the welcome then.
    package mutating func welcomed(cursor: UInt64) -> Bool {
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

    /// Records that the time limit for the hello has passed.
    package mutating func helloTimedOut() -> TimeoutAction {
        switch state {
        case .awaitingHello:
            state = .closed
            return .close
        case .greeting, .ready, .closed: return .none
        }
    }

    // MARK: Requests

    /// Records the arrival of a request.
    package mutating func received(request id: UInt32) -> RequestAction {
        switch state {
        case .ready: break
        case .awaitingHello, .greeting:
            state = .closed
            return .close(TandemError(.usage, "a request must not precede the welcome"))
        case .closed: return .ignore
        }
        guard id != 0, !requests.contains(id) else {
            state = .closed
            return .close(TandemError(.usage, "the request id \(id) is already in use"))
        }
        guard !requests.isFull else { return .refuse(requests.limitError) }
        requests.insert(id)
        return .run
    }

    /// Records that an answer or a chunk is being sent; moves the cursor to `position` if the
    /// message announces one.
    ///
    /// Returns false if the request is no longer in flight; don't send the answer then. The request
    /// stays in flight until its last chunk.
    package mutating func answered(id: UInt32, position: UInt64?, isLast: Bool = true) -> Bool {
        guard case .ready = state, isLast ? requests.remove(id) : requests.contains(id) else {
            return false
        }
        if let position { cursor = max(cursor, position) }
        return true
    }

    // MARK: Pushes

    /// Records that a push at `position` is being sent, and returns the predecessor that it has to
    /// name.
    ///
    /// Returns nil if nothing is to be sent, because the session is not ready or already knows the
    /// position.
    package mutating func pushing(_ position: UInt64) -> UInt64? {
        guard case .ready = state, position > cursor else { return nil }
        defer { cursor = position }
        return cursor
    }

    // MARK: End

    /// Records the end of the session, and returns its requests in flight in ascending order.
    package mutating func closed() -> [UInt32] {
        state = .closed
        return requests.removeAll()
    }
}
