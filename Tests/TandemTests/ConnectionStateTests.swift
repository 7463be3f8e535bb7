import TandemModel
import TandemWire
import Testing

@testable import Tandem

/// The state of a connection without a socket.
@MainActor @Suite struct ConnectionStateTests {
    /// Returns the state of a connection whose daemon allows a number of requests in flight.
    private func ready(requestsInFlight: Int) throws -> ConnectionState {
        var state = ConnectionState(
            ring: RecentTransactions(floor: 0, maximumCount: 10, maximumBytes: 1_000))
        let begins = [state.begin(), state.begin()]
        #expect(begins == [true, false])
        try state.greet(Hello())
        #expect(!state.isReady)
        var limits = SessionLimits()
        limits.requestsInFlight = requestsInFlight
        let welcome = Welcome(
            log: LogID(high: 1, low: 1), epoch: 1, position: 5, resumed: false, model: nil,
            lease: Lease(first: 1, count: 1, epoch: 1), limits: limits)
        let (isResumed, cursor) = try state.welcomed(welcome, installsModel: false)
        #expect(!isResumed && cursor == 5 && state.isReady)
        return state
    }

    private func request(deadline: UInt64) -> PendingRequest {
        PendingRequest(message: .status, reply: ReplyPromise(), deadline: deadline)
    }

    @Test func `an expired request keeps its id until the daemon answers`() throws {
        var state = try ready(requestsInFlight: 1)
        state.submit(request(deadline: 10))
        state.submit(request(deadline: 100))
        #expect(state.requests.count == 1 && state.queue.count == 1)
        let expired = state.expired(at: 10, ClientLimits()).requests
        #expect(expired.count == 1)
        state.dispatchQueue()
        #expect(state.requests.isEmpty && state.queue.count == 1)
        let isKnown = [
            state.receivedAnswer(.status("{}"), id: 1), state.receivedAnswer(.status("{}"), id: 1),
        ]
        #expect(isKnown == [true, false])
        state.dispatchQueue()
        #expect(state.requests.count == 1 && state.queue.isEmpty)
    }

    @Test func `an answer about a model that was not sent is an error`() throws {
        var state = try ready(requestsInFlight: 1)
        #expect(throws: TandemError.self) { try state.installedModel(at: 6) }
        state.loseSocket()
        #expect(throws: TandemError.self) { try state.installedModel(at: 6) }
    }

    @Test func `a second welcome ends the connection, which stays ready until it is lost`() throws {
        var state = try ready(requestsInFlight: 1)
        let welcome = Welcome(
            log: LogID(high: 1, low: 1), epoch: 1, position: 5, resumed: false, model: nil,
            lease: Lease(first: 1, count: 1, epoch: 1))
        #expect(throws: TandemError.self) {
            try state.welcomed(welcome, installsModel: false)
        }
        #expect(state.isReady)
        state.loseSocket()
        #expect(!state.isReady)
    }

    @Test func `the first error that ends a connection counts`() throws {
        var state = try ready(requestsInFlight: 1)
        state.end(TandemError(.denied, "first"))
        state.end(TandemError(.disconnected, "second"))
        #expect(state.phase == .closed && state.closedError?.message == "first")
    }
}
