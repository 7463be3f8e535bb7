import TandemIO
import TandemWire

@testable import TandemDaemon

/// A bidirectional connection in memory: bytes are in flight until the world delivers them.
///
/// As with a Unix socket, nothing is lost or reordered within a direction, but either end may
/// close.
final class Pipe: ClientChannel {
    let descriptor: Int32
    /// The bytes that the client wrote and that have not reached the daemon.
    private(set) var outgoing: [UInt8] = []
    /// The bytes that the daemon can read.
    private var arrived: [UInt8] = []
    /// The bytes that the daemon wrote and the client has not read; at most `capacity`.
    private(set) var incoming: [UInt8] = []
    /// The size of `incoming` at the beginning of the daemon's round.
    private var roundStart = 0
    private var capacity: Int
    private let isDead: () -> Bool
    private var chance: Chance
    private(set) var clientHasClosed = false
    private(set) var daemonHasClosed = false
    /// Decodes the daemon's messages at the moment they are written.
    private var tap = DaemonMessageDecoder()
    private let watch: (Envelope<DaemonMessage>) -> Void

    init(
        _ number: Int32, capacity: Int, chance: Chance, isDead: @escaping () -> Bool,
        watch: @escaping (Envelope<DaemonMessage>) -> Void
    ) {
        descriptor = number
        self.capacity = capacity
        self.chance = chance
        self.isDead = isDead
        self.watch = watch
    }

    // MARK: The daemon's end

    var isReadable: Bool { !daemonHasClosed && (!arrived.isEmpty || isAtEnd) }
    var isWritable: Bool { !daemonHasClosed && (incoming.count < capacity || clientHasClosed) }
    private var isAtEnd: Bool { clientHasClosed && outgoing.isEmpty && arrived.isEmpty }

    func read(into buffer: UnsafeMutableRawBufferPointer) throws(IOError) -> ReadResult {
        if daemonHasClosed || isAtEnd { return .closed }
        let count = min(buffer.count, arrived.count)
        guard count > 0 else { return .wouldBlock }
        buffer.copyBytes(from: arrived[..<count])
        arrived.removeFirst(count)
        return .bytes(count)
    }

    func write(_ bytes: UnsafeRawBufferPointer) throws(IOError) -> WriteResult {
        if daemonHasClosed || isGone || isDead() { return .closed }
        let room = min(bytes.count, capacity - incoming.count)
        guard room > 0 else { return .wouldBlock }
        let count = chance.percent(70) ? room : 1 + chance.below(room)
        let piece = UnsafeRawBufferPointer(rebasing: bytes[..<count])
        incoming.append(contentsOf: piece)
        inspect(piece)
        return .bytes(count)
    }

    func shutdown() { daemonHasClosed = true }

    private func inspect(_ bytes: UnsafeRawBufferPointer) {
        tap.append(bytes)
        while let envelope = try? tap.next() { watch(envelope) }
    }

    func beginRound() { roundStart = incoming.count }

    /// Ends the daemon's side after a crash, and keeps only `share` of 255 parts of this round's
    /// output.
    func cutRound(_ share: Int) {
        let written = max(0, incoming.count - roundStart)
        incoming.removeLast(written - written * share / 255)
        daemonHasClosed = true
    }

    // MARK: The client's end

    /// Whether the client closed both directions, or its process ended.
    private(set) var isGone = false

    func send(_ bytes: [UInt8]) {
        if !clientHasClosed && !daemonHasClosed { outgoing += bytes }
    }

    /// Makes the capacity practically unlimited.
    func widen() { capacity = .max / 2 }

    /// Closes the sending direction.
    func closeSending() { clientHasClosed = true }

    /// Ends the client's side; sent bytes still arrive.
    func drop() {
        clientHasClosed = true
        isGone = true
        incoming = []
    }

    /// Ends the client's side, and drops the bytes in flight to the daemon.
    func reset() {
        drop()
        outgoing = []
        arrived = []
    }

    /// Delivers bytes to the daemon.
    func carry(_ count: Int) {
        let count = min(count, outgoing.count)
        arrived += outgoing[..<count]
        outgoing.removeFirst(count)
    }

    /// Returns the next bytes for the client, at most `count`.
    func receive(_ count: Int) -> [UInt8] {
        let count = min(count, incoming.count)
        defer { incoming.removeFirst(count) }
        return Array(incoming[..<count])
    }

    var isAtEndForClient: Bool { daemonHasClosed && incoming.isEmpty }
}

/// A poller that reports ready pipes to the daemon's loop, as selected by the world.
final class SimulatedPoller: EventPoller {
    private var watched: [Int32: (token: UInt64, interest: Interest)] = [:]
    private var pipes: [Pipe] = []
    /// Selects and orders the pipes that the next wait reports.
    var choose: ([Pipe]) -> [Pipe] = { $0 }
    /// The timeout of the most recent wait.
    private(set) var timeout: Int32 = -1

    func add(_ pipe: Pipe) { pipes.append(pipe) }

    func add(_ target: Int32, token: UInt64, interest: Interest) throws(IOError) {
        watched[target] = (token, interest)
    }

    func modify(_ target: Int32, token: UInt64, interest: Interest) throws(IOError) {
        watched[target] = (token, interest)
    }

    func wait(timeoutMilliseconds: Int32, into events: inout [Poller.Event]) throws(IOError) {
        timeout = timeoutMilliseconds
        events.removeAll(keepingCapacity: true)
        pipes.removeAll { $0.daemonHasClosed }
        for pipe in choose(pipes.filter { event(for: $0) != nil }) {
            if let event = event(for: pipe) { events.append(event) }
        }
    }

    private func event(for pipe: Pipe) -> Poller.Event? {
        guard let (token, interest) = watched[pipe.descriptor] else { return nil }
        let reads = pipe.isReadable && interest.contains(.read)
        let writes = pipe.isWritable && interest.contains(.write)
        guard reads || writes || pipe.isGone else { return nil }
        return Poller.Event(
            token: token, isReadable: reads, isWritable: writes, isClosed: pipe.isGone)
    }
}
