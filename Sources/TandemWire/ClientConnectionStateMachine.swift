public import TandemModel

/// What a client does with its connection, as a value: no socket, no clock.
///
/// The owner tells what happened and does what the answer says. The machine hands out request ids,
/// knows which requests have no answer yet, and holds the session's cursor: the last position that
/// was announced. A push that names another predecessor is a gap: the connection is of no
/// more use, connect again and resume at the old ``cursor``. The table of states stands in
/// <doc:Protocol>.
public struct ClientConnectionStateMachine: Hashable, Sendable {
    /// Where the connection stands.
    public enum State: Hashable, Sendable {
        /// The socket is not connected yet.
        case connecting
        /// The hello was sent, the welcome has not come.
        case awaitingWelcome
        /// Requests may be sent.
        case ready
        /// Over; make a new machine for a new connection.
        case closed
    }

    /// What to do after the socket has connected.
    public enum ConnectedAction: Hashable, Sendable {
        /// Send this hello.
        case send(Hello)
        /// Close the socket; nobody wants it any more.
        case close
    }

    /// What to do with a welcome.
    public enum WelcomeAction: Hashable, Sendable {
        /// Pushes go on behind the position that was asked for.
        case resume
        /// Pushes begin after the welcome's position: what was held before needs a refresh.
        case refresh
        /// The daemon breaks the protocol; the connection is closed.
        case close(TandemError)
    }

    /// What to do with a push.
    public enum PushAction: Hashable, Sendable {
        /// Take it; the cursor has moved.
        case deliver
        /// Something was missed: the push names `got` as its predecessor. The machine is closed.
        case gap(expected: UInt64, got: UInt64)
        /// Drop it, the connection is not ready.
        case ignore
    }

    /// What to do with an answer.
    public enum AnswerAction: Hashable, Sendable {
        /// Give it to the request.
        case complete
        /// Give it to the request, which gets more.
        case partial
        /// Nobody waits for it: drop it.
        case unknown
    }

    /// What to do with a failure.
    public enum FailureAction: Hashable, Sendable {
        /// Give it to the request.
        case complete
        /// Nobody waits for it: drop it.
        case unknown
        /// It ends the connection. These requests are left without an answer.
        case close(unanswered: [UInt32])
    }

    /// What to do when time is up.
    public enum TimeoutAction: Hashable, Sendable {
        /// Close the socket: the welcome did not come.
        case close
        /// Nothing, it has come.
        case none
    }

    /// Where the connection stands.
    public private(set) var state = State.connecting
    /// The last announced position: where to resume after the connection is lost.
    public private(set) var cursor: UInt64
    private let hello: Hello
    private var requests = RequestTable()
    private var lastID: UInt32 = 0

    /// A connection that will begin with `hello`.
    public init(hello: Hello) {
        self.hello = hello
        cursor = hello.resume?.number ?? 0
    }

    /// The requests without an answer, in no order.
    public var inFlightCount: Int { requests.count }

    // MARK: Handshake

    /// The socket has connected.
    public mutating func connected() -> ConnectedAction {
        switch state {
        case .connecting:
            state = .awaitingWelcome
            return .send(hello)
        case .awaitingWelcome, .ready:
            preconditionFailure("A connection connects once.")
        case .closed: return .close
        }
    }

    /// The welcome has come; it sets the cursor.
    public mutating func received(_ welcome: Welcome) -> WelcomeAction {
        switch state {
        case .awaitingWelcome: break
        case .connecting, .ready, .closed:
            return violated("The daemon sent a welcome that nobody awaits.")
        }
        requests.limit = welcome.limits.requestsInFlight
        guard welcome.resumed else {
            cursor = welcome.position
            state = .ready
            return .refresh
        }
        guard let resume = hello.resume, resume.log == welcome.log,
            resume.epoch == welcome.epoch, resume.number <= welcome.position
        else { return violated("The daemon resumes where it was not asked to.") }
        state = .ready
        return .resume
    }

    /// ``WireLimits/handshakeMilliseconds`` have passed since the beginning.
    public mutating func handshakeTimedOut() -> TimeoutAction {
        switch state {
        case .connecting, .awaitingWelcome:
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

    /// The id for a new request.
    ///
    /// Throws `TandemError`: `disconnected` when the connection is not ready,
    /// `limitExceeded` when ``SessionLimits/requestsInFlight`` are without an answer.
    public mutating func begin() throws(TandemError) -> UInt32 {
        guard case .ready = state else {
            throw TandemError(.disconnected, "The connection to the daemon is not ready.")
        }
        guard !requests.isFull else { throw requests.limitError }
        repeat { lastID = lastID == .max ? 1 : lastID + 1 } while requests.contains(lastID)
        requests.insert(lastID)
        return lastID
    }

    /// An answer, or a part of one, has come that announces `position`, or nothing if that is nil.
    public mutating func received(
        answer id: UInt32, position: UInt64?, isLast: Bool = true
    ) -> AnswerAction {
        guard case .ready = state, isLast ? requests.remove(id) : requests.contains(id) else {
            return .unknown
        }
        if let position { cursor = max(cursor, position) }
        return isLast ? .complete : .partial
    }

    /// A failure has come; with id 0 it ends the connection.
    public mutating func received(failure id: UInt32) -> FailureAction {
        guard id == 0 else {
            return received(answer: id, position: nil) == .complete ? .complete : .unknown
        }
        return .close(unanswered: closed())
    }

    // MARK: Pushes

    /// A push has come that announces `position` after `previous`.
    public mutating func received(push previous: UInt64, position: UInt64) -> PushAction {
        guard case .ready = state else { return .ignore }
        guard previous == cursor, position > previous else {
            state = .closed
            return .gap(expected: cursor, got: previous)
        }
        cursor = position
        return .deliver
    }

    // MARK: End

    /// The connection is over; gives the requests that are left without an answer, ascending.
    public mutating func closed() -> [UInt32] {
        state = .closed
        return requests.removeAll()
    }
}
