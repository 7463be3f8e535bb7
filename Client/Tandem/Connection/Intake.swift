import TandemIO
import TandemModel
import TandemWire

/// The incoming side of one conversation with the daemon, and whose turn it is to read it.
///
/// The connection's thread reads, except while a thread that blocks for an answer does so itself: then the answer costs one
/// change of threads less. Whoever reads hands out everything that comes, in order, under one lock.
final class Intake: Sendable {
    private struct Reading {
        var decoder = DaemonMessageDecoder()
        var buffer = [UInt8](repeating: 0, count: 64 << 10)
        var failure: (any Error)?
        var isProven = false
    }

    private struct Turn {
        var isCallers = false
        var waitsForRoom = false

        var interest: Interest { isCallers ? [] : .read }
    }

    let socket: Socket
    private let watch: Poller.Watch
    private let reading = Locked(Reading())
    private let turn = Locked(Turn())

    /// Takes a socket in whose closing and, unless it is a caller's turn, whose bytes wake the poller.
    init(_ socket: Socket, _ poller: Poller, token: UInt64) throws {
        self.socket = socket
        watch = try poller.watch(socket.descriptor, token: token, interest: .read)
    }

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
            show(turn)
            return true
        }
        if isMine { reading.withLock { _ in } }
        return isMine
    }

    /// Gives the turn back to the connection's thread.
    func endTurn() {
        turn.withLock { turn in
            turn.isCallers = false
            show(turn)
        }
    }

    /// Sets whether the connection's thread is woken when the socket takes bytes again.
    func setWaitsForRoom(_ waits: Bool) {
        turn.withLock { turn in
            guard waits != turn.waitsForRoom else { return }
            turn.waitsForRoom = waits
            show(turn)
        }
    }

    /// It can only fail when the conversation is over, which is noticed by reading.
    private func show(_ turn: Turn) {
        try? watch.set(turn.waitsForRoom ? turn.interest.union(.write) : turn.interest)
    }

    // MARK: Reading

    /// Reads what is there and hands it out; false when the other side is gone.
    ///
    /// Does nothing on the connection's thread while it is a caller's turn: what it read would not wake the caller. An error
    /// is thrown again at every later call: the conversation is over.
    func drain(_ connection: Connection, asCaller: Bool) throws -> Bool {
        try reading.withLock { reading in
            guard asCaller || !turn.withLock({ $0.isCallers }) else { return true }
            if let failure = reading.failure { throw failure }
            do {
                return try drain(connection, &reading)
            } catch {
                reading.failure = error
                throw error
            }
        }
    }

    private func drain(_ connection: Connection, _ reading: inout Reading) throws -> Bool {
        while true {
            switch try reading.buffer.withUnsafeMutableBytes({ try socket.read(into: $0) }) {
            case .closed: return false
            case .wouldBlock: return true
            case .bytes(let count):
                reading.buffer.withUnsafeBytes {
                    reading.decoder.append(UnsafeRawBufferPointer(rebasing: $0[..<count]))
                }
                var inbox = Inbox()
                defer {
                    if !inbox.answers.isEmpty || !inbox.transactions.isEmpty {
                        reading.isProven = true
                    }
                    connection.deliver(inbox)
                }
                while let (id, message) = try WireCoding.next(&reading.decoder) {
                    try connection.receive(message, id: id, &inbox)
                }
                if count < reading.buffer.count { return true }
            }
        }
    }
}
