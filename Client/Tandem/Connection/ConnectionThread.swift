import TandemIO
import TandemModel
import TandemWire

/// The thread of a connection: connects, reads, dispatches messages, and reconnects.
final class ConnectionThread {
    private let connection: Connection
    private let wake: WakeUp
    private var backoff: Backoff
    // All clients of a daemon lose it at the same moment; jitter spreads their reconnects.
    private var random = SystemRandomNumberGenerator()

    init(_ connection: Connection, _ wake: WakeUp) {
        self.connection = connection
        self.wake = wake
        backoff = Backoff(connection.limits)
    }

    /// Runs until the connection is closed.
    func run() {
        do {
            let poller = try Poller()
            try poller.add(wake.descriptor, token: 0, interest: .read)
            while !isClosed {
                let start = connection.clock.monotonicNanoseconds
                let error = converse(poller)
                if isClosed { return }
                connection.lost(error)
                let wait = Self.isFinal(error) ? nil : backoff.next(using: &random)
                log(error, since: start, retryMilliseconds: wait)
                guard let wait else { return connection.end(error) }
                try pause(poller, milliseconds: wait)
            }
        } catch {
            connection.fail(TandemError(.limitExceeded, "the connection's thread ends: \(error)"))
        }
    }

    /// Logs the reason why there is no connection, and the delay before the next attempt.
    private func log(
        _ error: TandemError, since start: UInt64, retryMilliseconds wait: UInt64?
    ) {
        let retry = wait.map { [("retry", "\($0)")] } ?? []
        connection.log.current?.addFailure(.connect, since: start, error, retry)
    }

    private var hasBeenConnected: Bool { connection.state.withLock { $0.session != nil } }

    private var isClosed: Bool { connection.state.withLock { $0.phase == .closed } }

    /// Whether a retry is pointless: the daemon rejects this client, or access to the socket is
    /// denied.
    private static func isFinal(_ error: TandemError) -> Bool {
        error.code == .schemaMismatch || error.code == .denied
    }

    /// Connects and reads until the connection is lost; returns the reason.
    private func converse(_ poller: Poller) -> TandemError {
        do {
            let socket = try connect()
            defer { socket.shutdown() }
            try socket.setNonBlocking(false)
            let inbound = try InboundReader(socket, poller, token: 1)
            defer {
                try? poller.remove(socket.descriptor)
                if inbound.isProven { backoff.reset() }
            }
            try connection.greet(on: inbound)
            try read(inbound, poller)
        } catch let error as TandemError {
            return error
        } catch {
            return TandemError(.disconnected, "\(connection.transport.name): \(error)")
        }
        return TandemError(
            .disconnected, "\(connection.transport.name): the daemon closed the connection")
    }

    /// Connects, or records the time when the socket was first found without a daemon.
    private func connect() throws -> Socket {
        do {
            let socket = try connection.transport.connect()
            connection.state.withLock { $0.disconnection.absentSince = nil }
            return socket
        } catch let error as TandemError where error.code == .denied && hasBeenConnected {
            // A restarted daemon may set its socket's mode a moment after the socket appears, so
            // the attempt is repeated if this client has been connected before.
            throw TandemError(.disconnected, error.message)
        } catch {
            let now = connection.clock.monotonicNanoseconds
            connection.state.withLock { state in
                state.disconnection.absentSince = state.disconnection.absentSince ?? now
            }
            throw error
        }
    }

    private func read(_ inbound: InboundReader, _ poller: Poller) throws {
        var events: [Poller.Event] = []
        let greetingEnds = connection.deadline(after: connection.limits.connectMilliseconds)
        while !isClosed {
            inbound.setWaitsForRoom(connection.state.withLock { !$0.io.outbox.isEmpty })
            try poller.wait(timeoutMilliseconds: connection.timeout(), into: &events)
            for event in events {
                if event.token == 0 { wake.clear() }
                if event.isWritable { connection.state.withLock { $0.io.flush() } }
                // A caller that reads the end of the stream wakes this thread, which then detects
                // the end as well.
                guard event.token == 0 || event.isReadable else { continue }
                guard try inbound.drain(connection) else { return }
            }
            connection.state.withLock { $0.dispatchQueue() }
            connection.expire()
            let isLate = connection.clock.monotonicNanoseconds >= greetingEnds
            if isLate, connection.state.withLock({ $0.greetingTimedOut() }) {
                throw TandemError(.timeout, connection.noAnswer)
            }
        }
    }

    /// Waits before the next attempt; before the first connection, a new request ends the pause.
    private func pause(_ poller: Poller, milliseconds: UInt64) throws {
        let end = connection.deadline(after: milliseconds)
        var events: [Poller.Event] = []
        connection.expire()
        while !isClosed {
            let now = connection.clock.monotonicNanoseconds
            guard now < end else { return }
            let rest = Int32(clamping: (end - now) / 1_000_000 + 1)
            try poller.wait(
                timeoutMilliseconds: min(rest, connection.timeout()), into: &events)
            if !events.isEmpty { wake.clear() }
            connection.expire()
            if !events.isEmpty, !hasBeenConnected { return }
        }
    }
}
