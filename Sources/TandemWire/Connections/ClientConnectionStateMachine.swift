package import TandemModel

/// The state machine of a client's connection, as a value without socket or clock.
///
/// The owner reports events and carries out the returned actions. The machine assigns request ids,
/// tracks the requests in flight, and holds the session's cursor: the last announced position. A
/// push that names a different predecessor reveals a gap. The connection is then unusable, and the
/// client must connect again and resume after the old ``cursor``. <doc:Protocol> has the table of
/// states.
package struct ClientConnectionStateMachine: Hashable, Sendable {
    /// The state of the connection.
    package enum State: Hashable, Sendable {
        /// The socket is not connected yet.
        case connecting
        /// The hello was sent, and the welcome has not arrived.
        case awaitingWelcome
        /// The daemon has no model yet; the client's model was sent, and its answer is awaited.
        case installingModel
        /// Requests may be sent.
        case ready
        /// The connection has ended; create a new machine for a new connection.
        case closed
    }

    /// The action required after the socket has connected.
    package enum ConnectedAction: Hashable, Sendable {
        /// Send this hello.
        case send(Hello)
        /// Close the socket, which is no longer needed.
        case close
    }

    /// The action required by a welcome.
    package enum WelcomeAction: Hashable, Sendable {
        /// Continue: pushes resume after the requested position.
        case resume
        /// Refresh: pushes begin after the welcome's position, so cached data is stale.
        case refresh
        /// Close the connection: the daemon violated the protocol.
        case close(TandemError)
    }

    /// The action required by a push.
    package enum PushAction: Hashable, Sendable {
        /// Process the push; the cursor has moved.
        case deliver
        /// Handle a gap: the push names `got` as its predecessor, and the machine is closed.
        case gap(expected: UInt64, got: UInt64)
        /// Drop the push: the connection is not ready.
        case ignore
    }

    /// The action required by an answer.
    package enum AnswerAction: Hashable, Sendable {
        /// Resolve the request with the answer.
        case complete
        /// Pass the chunk to the request, which stays in flight.
        case partial
        /// Drop the answer: no request has its id.
        case unknown
    }

    /// The action required by a failure.
    package enum FailureAction: Hashable, Sendable {
        /// Resolve the request with the failure.
        case complete
        /// Drop the failure: no request has its id.
        case unknown
        /// End the connection; the listed requests stay unanswered.
        case close(unanswered: [UInt32])
    }

    /// The action required by a timeout.
    package enum TimeoutAction: Hashable, Sendable {
        /// Close the socket: the welcome, or the answer to the model, did not arrive.
        case close
        /// Do nothing: the connection is ready.
        case none
    }

    /// The state of the connection.
    package private(set) var state = State.connecting
    /// The last announced position; the next connection resumes after it.
    package private(set) var cursor: UInt64
    private let hello: Hello
    private var requests = RequestTable()
    private var lastID: UInt32 = 0

    /// Creates the machine of a connection that will begin with `hello`.
    package init(hello: Hello) {
        self.hello = hello
        cursor = hello.resume?.number ?? 0
    }

    /// The number of requests in flight.
    package var inFlightCount: Int { requests.count }

    /// Whether another request may be sent: the connection is ready, and fewer requests than the
    /// limit are in flight.
    package var hasRoom: Bool { state == .ready && !requests.isFull }

    // MARK: Handshake

    /// Records that the socket has connected.
    package mutating func connected() -> ConnectedAction {
        switch state {
        case .connecting:
            state = .awaitingWelcome
            return .send(hello)
        case .awaitingWelcome, .installingModel, .ready:
            preconditionFailure("A connection connects once.")
        case .closed: return .close
        }
    }

    /// Records the arrival of the welcome, which sets the cursor.
    ///
    /// With `installsModel`, the owner now sends its model; the connection is ready after
    /// ``installedModel(position:)``.
    package mutating func received(
        _ welcome: Welcome, installsModel: Bool = false
    ) -> WelcomeAction {
        switch state {
        case .awaitingWelcome: break
        case .connecting, .installingModel, .ready, .closed:
            return violated("the daemon sent an unexpected welcome")
        }
        requests.limit = welcome.limits.requestsInFlight
        guard welcome.resumed else {
            cursor = welcome.position
            state = installsModel ? .installingModel : .ready
            return .refresh
        }
        guard let resume = hello.resume, resume.log == welcome.log,
            resume.epoch == welcome.epoch, resume.number <= welcome.position
        else { return violated("the daemon resumed at a position that was not requested") }
        state = installsModel ? .installingModel : .ready
        return .resume
    }

    /// Records that the daemon has accepted the model, in an answer that announces `position`.
    package mutating func installedModel(position: UInt64) {
        switch state {
        case .installingModel:
            cursor = max(cursor, position)
            state = .ready
        case .connecting, .awaitingWelcome, .ready:
            preconditionFailure("A model is installed after a welcome without one.")
        case .closed: break
        }
    }

    /// Records that ``WireLimits/handshakeMilliseconds`` have passed since the connection began.
    package mutating func handshakeTimedOut() -> TimeoutAction {
        switch state {
        case .connecting, .awaitingWelcome, .installingModel:
            state = .closed
            return .close
        case .ready, .closed: return .none
        }
    }

    private mutating func violated(_ message: String) -> WelcomeAction {
        state = .closed
        return .close(TandemError(.usage, message))
    }

    // MARK: Requests

    /// Returns the id for a new request.
    ///
    /// Throws `disconnected` if the connection is not ready, and `limitExceeded` if
    /// ``SessionLimits/requestsInFlight`` requests are in flight.
    package mutating func begin() throws(TandemError) -> UInt32 {
        guard case .ready = state else {
            throw TandemError(.disconnected, "the connection to the daemon is not ready; try again")
        }
        guard !requests.isFull else { throw requests.limitError }
        repeat { lastID = lastID == .max ? 1 : lastID + 1 } while requests.contains(lastID)
        requests.insert(lastID)
        return lastID
    }

    /// Records the arrival of an answer or a chunk; moves the cursor to `position` if the message
    /// announces one.
    package mutating func received(
        answer id: UInt32, position: UInt64?, isLast: Bool = true
    ) -> AnswerAction {
        guard case .ready = state, isLast ? requests.remove(id) : requests.contains(id) else {
            return .unknown
        }
        if let position { cursor = max(cursor, position) }
        return isLast ? .complete : .partial
    }

    /// Records the arrival of a failure; one with id 0 ends the connection.
    package mutating func received(failure id: UInt32) -> FailureAction {
        guard id == 0 else {
            return received(answer: id, position: nil) == .complete ? .complete : .unknown
        }
        return .close(unanswered: closed())
    }

    // MARK: Pushes

    /// Records the arrival of a push that announces `position` after `previous`.
    package mutating func received(push previous: UInt64, position: UInt64) -> PushAction {
        switch state {
        case .ready, .installingModel: break
        case .connecting, .awaitingWelcome, .closed: return .ignore
        }
        guard previous == cursor, position > previous else {
            state = .closed
            return .gap(expected: cursor, got: previous)
        }
        cursor = position
        return .deliver
    }

    // MARK: End

    /// Records the end of the connection, and returns the unanswered requests in ascending order.
    package mutating func closed() -> [UInt32] {
        state = .closed
        return requests.removeAll()
    }
}
