import Synchronization
import TandemIO
import TandemJournal
import TandemModel
import TandemStore
import TandemWire
import TestSupport
import Testing

@testable import TandemDaemon

/// The lines that a daemon logged, from any thread.
final class Log: Sendable {
    private let content = Mutex<[String]>([])
    var lines: [String] { content.withLock { $0 } }
    func add(_ line: String) { content.withLock { $0.append(line) } }
}

/// An engine without its loop: the test moves bytes over real sockets and runs each turn.
final class EngineBench {
    let bench: CommitBench
    let log = Log()
    private(set) var engine: Engine
    private var clients: [Peer] = []

    private let roles: RolePolicy

    init(
        model: ManagedObjectModel = graphModel, clock: any Clock = SystemClock(),
        limits: DaemonLimits = DaemonLimits(), roles: RolePolicy = RolePolicy(),
        notifier: ServiceNotifier? = nil, engineClock: (any Clock)? = nil,
        segmentBytes: Int = 128 << 10, indexes: Bool = false
    ) throws {
        bench = try CommitBench(
            model: model, segmentBytes: segmentBytes, clock: clock, limits: limits,
            indexes: indexes)
        self.roles = roles
        engine = EngineBench.engine(bench, log, roles, engineClock, notifier)
    }

    private static func engine(
        _ bench: CommitBench, _ log: Log, _ roles: RolePolicy, _ clock: (any Clock)? = nil,
        _ notifier: ServiceNotifier? = nil
    ) -> Engine {
        Engine(
            committer: bench.committer, clock: clock ?? bench.committer.clock, storePath: "bench",
            roles: roles, log: DaemonLog(level: .debug) { log.add("\($0) \($1)") },
            notifier: notifier)
    }

    deinit { engine.reads.close() }

    /// Simulates the daemon's death and another's start, on the same journal and store.
    func crash() throws {
        clients = []
        engine.reads.close()
        try bench.crash()
        engine = EngineBench.engine(bench, log, roles)
    }

    /// The same as `crash()`, with a store that is rebuilt from the journal.
    func rebuild() throws {
        clients = []
        engine.reads.close()
        try bench.rebuild()
        engine = EngineBench.engine(bench, log, roles)
    }

    /// The number of connections that the daemon closed with a logged reason.
    var dropped: Int { log.lines.count { $0.contains("connection-dropped: reason=") } }

    var position: Position { engine.position }

    /// Pauses or resumes the readers.
    func holdReaders(_ isHeld: Bool) {
        (engine.reads.readers as? ReadsInTurns)?.isDue = { !isHeld }
    }

    /// Returns a connection that has not sent a hello, with the credentials of this process or
    /// invented ones.
    func peer(as credentials: PeerCredentials? = nil) throws -> Peer {
        let (mine, session, _) = try connect(as: credentials)
        let peer = Peer(mine, try #require(session), self)
        clients.append(peer)
        return peer
    }

    /// Returns the error with which a connection is refused, or nil if it is accepted.
    func refusal(of credentials: PeerCredentials? = nil) throws -> TandemError? {
        let (mine, session, its) = try connect(as: credentials)
        return try withExtendedLifetime(its) {
            guard session == nil else { return nil }
            var buffer = [UInt8](repeating: 0, count: 4_096)
            let result = try buffer.withUnsafeMutableBytes { try mine.read(into: $0) }
            guard case .bytes(let count) = result else { return nil }
            var decoder = DaemonMessageDecoder()
            decoder.append(Array(buffer[..<count]))
            guard case .failure(let error) = try decoder.next()?.message else { return nil }
            return error
        }
    }

    private func connect(
        as credentials: PeerCredentials?
    ) throws -> (mine: Socket, session: Session?, its: Socket) {
        let (mine, its) = try Socket.pair()
        try mine.setNonBlocking()
        try its.setNonBlocking()
        guard let credentials else { return (mine, engine.connect(its), its) }
        return (mine, engine.connect(its, of: credentials, unit: "made-up.service"), its)
    }

    /// Returns a connection that has received its welcome.
    func client(
        _ hello: Hello = Hello(author: "test"), as credentials: PeerCredentials? = nil
    ) throws -> Peer {
        let peer = try peer(as: credentials)
        try peer.greet(hello)
        return peer
    }

    /// Whether a turn makes a checkpoint as soon as reads wait for one, regardless of the clock.
    var makesCheckpoints = true

    /// The earliest possible arrival time of received bytes; nil for the current time.
    var arrivedAt: UInt64?

    /// Runs one turn of the daemon's loop, over everything that was written to its sockets.
    func turn() throws {
        for peer in clients { try peer.carry() }
        if makesCheckpoints, engine.reads.due != nil { try bench.committer.checkpoint() }
        try engine.turn()
        for session in engine.admission.sessions.values where !engine.queues.isScheduled(session) {
            Issue.record("session \(session.id) is stuck")
        }
    }
}

/// A client of an ``EngineBench``: it sends requests, and keeps answers and pushes in the order of
/// their arrival.
final class Peer {
    let socket: Socket
    let session: Session
    private unowned let bench: EngineBench
    private var decoder = DaemonMessageDecoder()
    private var assembler = AnswerAssembler()
    private(set) var machine = ClientConnectionStateMachine(hello: Hello())
    private(set) var welcome: Welcome?
    /// The messages that have arrived but have not been consumed.
    private(set) var received: [Envelope<DaemonMessage>] = []
    /// The transactions pushed so far.
    private(set) var pushes: [TransactionPush] = []
    /// The states pushed so far.
    private(set) var states: [StatePush] = []
    private(set) var isClosed = false
    private(set) var failure: TandemError?

    init(_ socket: Socket, _ session: Session, _ bench: EngineBench) {
        self.socket = socket
        self.session = session
        self.bench = bench
    }

    private var hasGreeted = false

    func greet(_ hello: Hello) throws {
        hasGreeted = true
        machine = ClientConnectionStateMachine(hello: hello)
        _ = machine.connected()
        try write(.hello(hello), id: 0)
        try bench.turn()
        try read()
    }

    // MARK: The daemon's side

    /// Passes the bytes in the daemon's socket to the engine.
    func carry() throws {
        var buffer = [UInt8](repeating: 0, count: 64 << 10)
        while !session.isClosing {
            let result = try buffer.withUnsafeMutableBytes { try session.socket.read(into: $0) }
            guard case .bytes(let count) = result else {
                if result == .closed { bench.engine.disconnect(session, because: nil) }
                return
            }
            buffer.withUnsafeBytes {
                bench.engine.receive(
                    UnsafeRawBufferPointer(rebasing: $0[..<count]), from: session,
                    at: bench.arrivedAt)
            }
        }
    }

    // MARK: The client's side

    func write(_ message: ClientMessage, id: UInt32) throws {
        var bytes: [UInt8] = []
        try FrameEncoder.encode(message, id: id, into: &bytes)
        try write(bytes)
    }

    /// Writes all bytes, running a turn of the daemon whenever the socket is full.
    func write(_ bytes: [UInt8]) throws {
        var rest = bytes[...]
        while !rest.isEmpty, !session.isClosing {
            let result = try rest.withUnsafeBytes { try socket.write($0) }
            switch result {
            case .bytes(let count): rest = rest.dropFirst(count)
            case .wouldBlock: try carry()
            case .closed: return
            }
        }
    }

    /// Sends a request and returns its id.
    func send(_ message: ClientMessage) throws -> UInt32 {
        let id = try machine.begin()
        try write(message, id: id)
        return id
    }

    /// Sends a request, runs the daemon, and returns the answer.
    func ask(_ message: ClientMessage) throws -> DaemonMessage {
        let id = try send(message)
        return try answer(id)
    }

    func answer(_ id: UInt32) throws -> DaemonMessage {
        for _ in 0..<1_000 {
            try read()
            if let index = received.firstIndex(where: { $0.id == id }) {
                return received.remove(at: index).message
            }
            try bench.turn()
            try bench.engine.serve(session)
        }
        throw TandemError(.timeout, "no answer to request \(id)")
    }

    /// Reads everything that has arrived, and checks that pushes have no gap.
    func read() throws {
        var buffer = [UInt8](repeating: 0, count: 256 << 10)
        while !isClosed {
            let result = try buffer.withUnsafeMutableBytes { try socket.read(into: $0) }
            guard case .bytes(let count) = result else {
                isClosed = isClosed || result == .closed
                return
            }
            decoder.append(Array(buffer[..<count]))
            while let envelope = try decoder.next() { collect(envelope) }
        }
    }

    private func collect(_ envelope: Envelope<DaemonMessage>) {
        switch envelope.message {
        case .welcome(let welcome):
            self.welcome = welcome
            let action = machine.received(welcome)
            if hasGreeted, case .close(let error) = action { Issue.record("\(error)") }
        case .transaction(let push):
            let action = machine.received(
                push: push.previous, position: push.transaction.position)
            #expect(action == .deliver, "a gap at \(push.transaction.position)")
            pushes.append(push)
        case .progress(let push):
            #expect(machine.received(push: push.previous, position: push.position) == .deliver)
        case .state(let push): states.append(push)
        case .failure(let error) where envelope.id == 0: failure = error
        default:
            _ = machine.received(
                answer: envelope.id, position: envelope.message.announcedPosition,
                isLast: envelope.message.isLastOfAnswer)
            if let whole = assembler.consume(envelope) { received.append(whole) }
        }
    }

    // MARK: Shortcuts

    private var saves: UInt64 = 0

    func saveRequest(
        _ operations: [SaveOperation], policy: MergePolicy = .error
    ) -> SaveRequest {
        saves += 1
        var writer = ByteWriter()
        writer.uint64(session.id)
        writer.uint64(saves)
        writer.uint64(bench.position.number)
        return SaveRequest(
            saveID: writer.bytes, contentHash: StableHash(writer.bytes), policy: policy,
            modelVersion: bench.bench.store.model?.version ?? 0,
            operations: operations)
    }

    @discardableResult
    func save(_ operations: [SaveOperation]) throws -> SaveAnswer {
        switch try ask(.save(saveRequest(operations))) {
        case .saved(let saved): return saved
        case .failure(let error): throw error
        default: throw TandemError(.usage, "an unexpected answer to a save")
        }
    }

    func fetch(_ fetch: Fetch) throws -> FetchAnswer {
        switch try ask(.fetch(fetch)) {
        case .fetched(let answer): return answer
        case .failure(let error): throw error
        default: throw TandemError(.usage, "an unexpected answer to a fetch")
        }
    }

    /// The model in the welcome.
    var model: CompiledModel {
        get throws {
            var reader = ByteReader(try #require(welcome?.model))
            return try CompiledModel(from: &reader)
        }
    }
}
