import TandemIO
import TandemModel
import TandemWire

/// The thread of a connection: connects, reads, hands out, connects again.
final class ConnectionThread {
    private let connection: Connection
    private let wake: WakeUp
    private var backoff: Backoff

    init(_ connection: Connection, _ wake: WakeUp) {
        self.connection = connection
        self.wake = wake
        backoff = Backoff(connection.limits, seed: connection.clock.monotonicNanoseconds)
    }

    /// Runs until the connection is closed.
    func run() {
        do {
            let poller = try Poller()
            try poller.add(wake.descriptor, token: 0, interest: .read)
            while !isClosed {
                let error = converse(poller)
                if isClosed { return }
                connection.lost(error)
                if Self.isFinal(error) { return connection.fail(error) }
                try pause(poller, milliseconds: backoff.next())
            }
        } catch {
            connection.fail(TandemError(.limitExceeded, "the connection's thread ends: \(error)"))
        }
    }

    private var isClosed: Bool { connection.state.withLock { $0.phase == .closed } }

    /// A daemon that refuses this client will refuse it again.
    private static func isFinal(_ error: TandemError) -> Bool {
        error.code == .schemaMismatch || error.code == .denied
    }

    /// Connects and reads until the connection is lost; returns why it was.
    private func converse(_ poller: Poller) -> TandemError {
        do {
            let socket = try connection.transport.connect()
            defer { socket.shutdown() }
            try socket.setNonBlocking()
            try poller.add(socket.descriptor, token: 1, interest: .read)
            defer { try? poller.remove(socket.descriptor) }
            try connection.greet(on: socket)
            try read(from: socket, poller)
        } catch let error as TandemError {
            return error
        } catch {
            return TandemError(.disconnected, "\(connection.transport.name): \(error)")
        }
        return TandemError(.disconnected, "\(connection.transport.name): the daemon went away")
    }

    private func read(from socket: Socket, _ poller: Poller) throws {
        var decoder = DaemonMessageDecoder()
        var events: [Poller.Event] = []
        var buffer = [UInt8](repeating: 0, count: 64 << 10)
        var waitsForRoom = false
        let greetingEnds = connection.deadline(after: connection.limits.connectMilliseconds)
        while !isClosed {
            let hasMore = connection.state.withLock { !$0.outbox.isEmpty }
            if hasMore != waitsForRoom {
                waitsForRoom = hasMore
                try poller.modify(
                    socket.descriptor, token: 1, interest: hasMore ? [.read, .write] : .read)
            }
            try poller.wait(timeoutMilliseconds: connection.timeout(), into: &events)
            for event in events {
                if event.token == 0 { wake.clear() }
                if event.isWritable { connection.state.withLock { $0.flush() } }
                guard event.token == 1, event.isReadable else { continue }
                guard try drain(socket, &buffer, &decoder) else { return }
            }
            connection.state.withLock { $0.dispatchQueue() }
            connection.expire()
            if !connection.isReady, connection.clock.monotonicNanoseconds >= greetingEnds {
                throw TandemError(.timeout, "\(connection.transport.name): no welcome came")
            }
        }
    }

    /// Reads what is there; false when the other side is gone.
    private func drain(
        _ socket: Socket, _ buffer: inout [UInt8], _ decoder: inout DaemonMessageDecoder
    ) throws -> Bool {
        while true {
            switch try buffer.withUnsafeMutableBytes({ try socket.read(into: $0) }) {
            case .closed: return false
            case .wouldBlock: return true
            case .bytes(let count):
                buffer.withUnsafeBytes {
                    decoder.append(UnsafeRawBufferPointer(rebasing: $0[..<count]))
                }
                var inbox = Inbox()
                defer {
                    // A welcome alone proves nothing: what is sent next may be what ends the connection.
                    if !inbox.answers.isEmpty || !inbox.transactions.isEmpty { backoff.reset() }
                    connection.deliver(inbox)
                }
                while let (id, message) = try WireCoding.next(&decoder) {
                    try connection.receive(message, id: id, &inbox)
                }
                if count < buffer.count { return true }
            }
        }
    }

    private func pause(_ poller: Poller, milliseconds: UInt64) throws {
        let end = connection.deadline(after: milliseconds)
        var events: [Poller.Event] = []
        while !isClosed {
            let now = connection.clock.monotonicNanoseconds
            guard now < end else { return }
            let rest = Int32(clamping: (end - now) / 1_000_000 + 1)
            try poller.wait(
                timeoutMilliseconds: min(rest, connection.timeout()), into: &events)
            if !events.isEmpty { wake.clear() }
            connection.expire()
        }
    }
}

/// How long to wait before connecting again: doubles, with jitter, up to a bound.
struct Backoff {
    private let first: UInt64
    private let longest: UInt64
    private var current: UInt64
    private var random: UInt64

    init(_ limits: ClientLimits, seed: UInt64) {
        first = max(1, limits.firstBackoffMilliseconds)
        longest = max(first, limits.longestBackoffMilliseconds)
        current = first
        random = seed
    }

    /// The next pause in milliseconds, between half and all of the current bound.
    mutating func next() -> UInt64 {
        defer { current = min(longest, current * 2) }
        random = random &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        return current / 2 + (random >> 33) % (current / 2 + 1)
    }

    /// Starts anew after a connection that worked.
    mutating func reset() { current = first }
}
