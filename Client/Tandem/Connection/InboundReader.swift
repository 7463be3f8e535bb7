import TandemIO
import TandemModel
import TandemWire

/// The inbound reader of a connection, which reads and decodes bytes on one thread at a time.
///
/// The connection's thread reads, except while a caller blocks for an answer and reads itself,
/// which saves a thread switch. The reading thread dispatches all messages, in order, under one
/// lock. If only callers' own answers are expected, the connection's thread does not watch the
/// socket at all. A save then costs one write and one read.
final class InboundReader: Sendable {
    private struct Reading {
        var decoder = DaemonMessageDecoder()
        var failure: (any Error)?
        var isProven = false
        /// The number of bytes received since the last heap trim.
        var bytes = 0
        /// The spin policy of callers that wait for answers to read-only requests.
        var spin = SpinPolicy(cores: ThisProcess.cores)
    }

    private struct ReaderRole {
        var isCallers = false
        var waitsForRoom = false
        /// Whether no further message was expected when the last caller stopped reading.
        var isQuiet = false
        /// Whether a request made during this caller's turn may have an answer that the caller
        /// leaves unread.
        var isDemanded = false
        /// The interest most recently registered with the poller.
        var registeredInterest = Interest.read

        var interest: Interest {
            let reads: Interest = isCallers || isQuiet ? [] : .read
            return waitsForRoom ? reads.union(.write) : reads
        }
    }

    /// The interval at which a caller that waits for bytes checks deadlines, in milliseconds.
    private static let deadlineCheckMilliseconds: Int32 = 1_000
    private static let roomBytes = 64 << 10

    let socket: Socket
    private let watch: Poller.Watch
    private let reading = Locked(Reading())
    private let turn = Locked(ReaderRole())
    // Guard: the turn. The connection's thread uses the buffer with `reading` locked while no
    // caller has the turn; a caller uses it during its own turn.
    nonisolated(unsafe) private let room: UnsafeMutableRawBufferPointer

    /// Registers a socket with the poller.
    ///
    /// The poller wakes when the socket closes and, unless a caller is reading, when bytes arrive.
    init(_ socket: Socket, _ poller: Poller, token: UInt64) throws {
        self.socket = socket
        try socket.setReadTimeout(milliseconds: Int(Self.deadlineCheckMilliseconds))
        watch = try poller.watch(socket.descriptor, token: token, interest: .read)
        room = .allocate(byteCount: Self.roomBytes, alignment: 16)
    }

    deinit { room.deallocate() }

    /// The spin policy of the next caller that waits for the answer to a read-only request.
    var spin: SpinPolicy { reading.withLock { $0.spin } }

    /// Whether the daemon has answered or pushed anything after its welcome.
    ///
    /// A welcome alone proves nothing, because the next message sent may end the connection.
    var isProven: Bool { reading.withLock { $0.isProven } }

    // MARK: Turns

    /// Makes the calling thread the reader; returns false if another caller is reading.
    ///
    /// On return, the connection's thread has dispatched all messages that it read, and has stopped
    /// reading.
    func beginTurn() -> Bool {
        let isMine = turn.withLock { turn in
            guard !turn.isCallers else { return false }
            turn.isCallers = true
            turn.isDemanded = false
            updatePollerInterest(&turn)
            return true
        }
        if isMine { reading.withLock { _ in } }
        return isMine
    }

    /// Returns the reader role to the connection's thread, which need not read if no message is
    /// expected.
    func endTurn(isQuiet: Bool) {
        turn.withLock { turn in
            turn.isCallers = false
            turn.isQuiet = isQuiet && !turn.isDemanded
            updatePollerInterest(&turn)
        }
    }

    /// Makes the connection's thread read, except during a caller's turn.
    ///
    /// Call this if a message is expected and there may be no caller that reads it.
    func demand() {
        turn.withLock { turn in
            turn.isDemanded = true
            turn.isQuiet = false
            updatePollerInterest(&turn)
        }
    }

    /// Sets whether the connection's thread is woken when the socket is writable again.
    func setWaitsForRoom(_ waits: Bool) {
        turn.withLock { turn in
            guard waits != turn.waitsForRoom else { return }
            turn.waitsForRoom = waits
            updatePollerInterest(&turn)
        }
    }

    /// Updates the poller's interest.
    ///
    /// An error is ignored: it means that the connection has ended, which the next read detects.
    private func updatePollerInterest(_ turn: inout ReaderRole) {
        guard turn.interest != turn.registeredInterest else { return }
        turn.registeredInterest = turn.interest
        try? watch.set(turn.registeredInterest)
    }

    // MARK: Reading

    /// Reads and dispatches the available bytes on the connection's thread; returns false at the
    /// end.
    ///
    /// Does nothing while a caller is reading, because bytes read by this thread would not wake the
    /// caller. An error ends the connection, and every later call throws it again.
    func drain(_ connection: Connection) throws -> Bool {
        let (isOpen, shouldTrimHeap) = try reading.withLock { reading in
            let isOpen = try drain(connection, &reading)
            let bound = connection.limits.releaseBytes
            guard bound > 0, reading.bytes >= bound else { return (isOpen, false) }
            reading.bytes = 0
            return (isOpen, true)
        }
        if shouldTrimHeap { ThisProcess.releaseMemory() }
        return isOpen
    }

    private func drain(_ connection: Connection, _ reading: inout Reading) throws -> Bool {
        guard !turn.withLock({ $0.isCallers }) else { return true }
        if let failure = reading.failure { throw failure }
        while true {
            switch try socket.read(into: room, waits: false) {
            case .closed: return false
            case .wouldBlock: return true
            case .bytes(let count):
                try consume(count, connection, &reading)
                if count < room.count { return true }
            }
        }
    }

    /// Waits for bytes on the calling thread, which has the turn, and dispatches their messages.
    ///
    /// If `spins` is true, polls before sleeping if recent answers arrived quickly. The result
    /// `.wouldBlock` means that the caller should check its deadlines: the wait timed out, or
    /// lasted as long as ``deadlineCheckMilliseconds``. Throws the errors of ``drain(_:)``.
    func receive(
        _ connection: Connection, milliseconds: Int32, spins: Bool = false
    ) throws -> ReadResult {
        let (failure, policy) = reading.withLock { ($0.failure, spins ? $0.spin : nil) }
        if let failure { throw failure }
        let began = policy == nil ? 0 : connection.clock.monotonicNanoseconds
        var result = ReadResult.wouldBlock
        if let policy, policy.budget > 0, milliseconds != 0 {
            result = try socket.read(into: room, spinningFor: policy.budget)
        }
        if result == .wouldBlock { result = try sleep(milliseconds: milliseconds) }
        try reading.withLock { reading in
            if policy != nil {
                reading.spin.waited(nanoseconds: connection.clock.monotonicNanoseconds - began)
            }
            if case .bytes(let count) = result { try consume(count, connection, &reading) }
        }
        return result
    }

    /// Sleeps until bytes arrive, and reads them.
    private func sleep(milliseconds: Int32) throws -> ReadResult {
        let waits = milliseconds < 0 || milliseconds >= Self.deadlineCheckMilliseconds
        if !waits, try !socket.waitReadable(milliseconds: milliseconds) { return .wouldBlock }
        return try socket.read(into: room, waits: waits)
    }

    /// Decodes the first `count` bytes of the buffer, and dispatches the complete messages.
    private func consume(_ count: Int, _ connection: Connection, _ reading: inout Reading) throws {
        reading.decoder.append(UnsafeRawBufferPointer(rebasing: room[..<count]))
        reading.bytes += count
        var received = ReceivedBatch()
        defer {
            if !received.answers.isEmpty || !received.transactions.isEmpty {
                reading.isProven = true
            }
            connection.deliver(received)
        }
        do {
            while let (id, message) = try WireCoding.next(&reading.decoder) {
                try connection.receive(message, id: id, &received)
            }
        } catch {
            reading.failure = error
            throw error
        }
    }
}
