import TandemIO
import TandemModel
import TandemWire

/// The incoming side of one conversation with the daemon, and whose turn it is to read it.
///
/// The connection's thread reads, except while a thread that blocks for an answer does so itself: then the answer costs one
/// change of threads less. Whoever reads hands out everything that comes, in order, under one lock. While nothing is expected
/// that a caller would not read itself, the thread does not watch the socket at all: such a save is one write and one read.
final class Intake: Sendable {
    private struct Reading {
        var decoder = DaemonMessageDecoder()
        var failure: (any Error)?
        var isProven = false
        /// What came since freed memory was given back.
        var bytes = 0
        /// How callers wait for the answers to questions.
        var spin = SpinPolicy(cores: ThisProcess.cores)
    }

    private struct Turn {
        var isCallers = false
        var waitsForRoom = false
        /// Whether the last caller left with nothing more to expect.
        var isQuiet = false
        /// Whether something was asked for since the turn began that the caller may leave unread.
        var isDemanded = false
        /// What the socket is watched for.
        var shown = Interest.read

        var interest: Interest {
            let reads: Interest = isCallers || isQuiet ? [] : .read
            return waitsForRoom ? reads.union(.write) : reads
        }
    }

    /// The milliseconds after which a caller that waits for bytes looks at the time.
    private static let patience: Int32 = 1_000
    private static let roomBytes = 64 << 10

    let socket: Socket
    private let watch: Poller.Watch
    private let reading = Locked(Reading())
    private let turn = Locked(Turn())
    // Guard: the turn. The thread uses it with `reading` locked when it is nobody's, a caller during its own.
    nonisolated(unsafe) private let room: UnsafeMutableRawBufferPointer

    /// Takes a socket in whose closing and, unless it is a caller's turn, whose bytes wake the poller.
    init(_ socket: Socket, _ poller: Poller, token: UInt64) throws {
        self.socket = socket
        try socket.setReadTimeout(milliseconds: Int(Self.patience))
        watch = try poller.watch(socket.descriptor, token: token, interest: .read)
        room = .allocate(byteCount: Self.roomBytes, alignment: 16)
    }

    deinit { room.deallocate() }

    /// How the next caller waits for the answer to a question.
    var spin: SpinPolicy { reading.withLock { $0.spin } }

    /// Whether the daemon answered or pushed anything.
    ///
    /// A welcome alone proves nothing: what is sent next may be what ends the connection.
    var isProven: Bool { reading.withLock { $0.isProven } }

    // MARK: Turns

    /// Lets the calling thread read instead of the connection's; false if another one does already.
    ///
    /// On return the connection's thread has handed out whatever it had read, and reads no more.
    func beginTurn() -> Bool {
        let isMine = turn.withLock { turn in
            guard !turn.isCallers else { return false }
            turn.isCallers = true
            turn.isDemanded = false
            show(&turn)
            return true
        }
        if isMine { reading.withLock { _ in } }
        return isMine
    }

    /// Gives the turn back to the connection's thread, which need not read if nothing is expected.
    func endTurn(isQuiet: Bool) {
        turn.withLock { turn in
            turn.isCallers = false
            turn.isQuiet = isQuiet && !turn.isDemanded
            show(&turn)
        }
    }

    /// Lets the thread read when it is nobody's turn: something is expected that no caller may read.
    func demand() {
        turn.withLock { turn in
            turn.isDemanded = true
            turn.isQuiet = false
            show(&turn)
        }
    }

    /// Sets whether the connection's thread is woken when the socket takes bytes again.
    func setWaitsForRoom(_ waits: Bool) {
        turn.withLock { turn in
            guard waits != turn.waitsForRoom else { return }
            turn.waitsForRoom = waits
            show(&turn)
        }
    }

    /// It can only fail when the conversation is over, which is noticed by reading.
    private func show(_ turn: inout Turn) {
        guard turn.interest != turn.shown else { return }
        turn.shown = turn.interest
        try? watch.set(turn.shown)
    }

    // MARK: Reading

    /// Reads what is there, on the connection's thread, and hands it out; false when the other side is gone.
    ///
    /// Does nothing while it is a caller's turn: what it read would not wake the caller. An error is thrown again at every
    /// later call: the conversation is over.
    func drain(_ connection: Connection) throws -> Bool {
        let (goesOn, isLitter) = try reading.withLock { reading in
            let goesOn = try drain(connection, &reading)
            let bound = connection.limits.releaseBytes
            guard bound > 0, reading.bytes >= bound else { return (goesOn, false) }
            reading.bytes = 0
            return (goesOn, true)
        }
        if isLitter { ThisProcess.releaseMemory() }
        return goesOn
    }

    private func drain(_ connection: Connection, _ reading: inout Reading) throws -> Bool {
        guard !turn.withLock({ $0.isCallers }) else { return true }
        if let failure = reading.failure { throw failure }
        while true {
            switch try socket.read(into: room, waits: false) {
            case .closed: return false
            case .wouldBlock: return true
            case .bytes(let count):
                try take(count, connection, &reading)
                if count < room.count { return true }
            }
        }
    }

    /// Waits for bytes on the calling thread, whose turn it is, and hands them out; where it spins, does not sleep at once if they
    /// have come early of late.
    ///
    /// `.wouldBlock` says that it is time to look at the time; the wait is then over, or lasted ``patience``. Throws as
    /// ``drain(_:)``.
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
            if case .bytes(let count) = result { try take(count, connection, &reading) }
        }
        return result
    }

    /// Waits for bytes, asleep, and reads them.
    private func sleep(milliseconds: Int32) throws -> ReadResult {
        let waits = milliseconds < 0 || milliseconds >= Self.patience
        if !waits, try !socket.waitReadable(milliseconds: milliseconds) { return .wouldBlock }
        return try socket.read(into: room, waits: waits)
    }

    /// Takes the first bytes of the room and hands out what they complete.
    private func take(_ count: Int, _ connection: Connection, _ reading: inout Reading) throws {
        reading.decoder.append(UnsafeRawBufferPointer(rebasing: room[..<count]))
        reading.bytes += count
        var inbox = Inbox()
        defer {
            if !inbox.answers.isEmpty || !inbox.transactions.isEmpty { reading.isProven = true }
            connection.deliver(inbox)
        }
        do {
            while let (id, message) = try WireCoding.next(&reading.decoder) {
                try connection.receive(message, id: id, &inbox)
            }
        } catch {
            reading.failure = error
            throw error
        }
    }
}
