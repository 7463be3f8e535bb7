import TandemIO
import TandemModel
import TandemWire

/// One socket to the daemon, and the thread that reads it.
///
/// Each request is written by the thread that makes it. The connection is made at the first use.
/// After a loss, it resumes at the last position and sends requests again; saves keep their ids.
final class Connection: Sendable {
    let transport: Transport
    let author: String
    let declaredModel: ManagedObjectModel?
    /// The compiled `declaredModel`; nil if there is none or if it is invalid.
    let compiledModel: CompiledModel?
    /// The error in the model or in the author's name; nil if both are valid.
    let declarationProblem: TandemError?
    let limits: ClientLimits
    let state: Locked<ConnectionState>
    let clock: any Clock
    let payloads: PayloadHub
    let log = ConnectionLog()
    private let semaphores = SemaphorePool()

    init(
        transport: Transport, author: String, model: ManagedObjectModel?, limits: ClientLimits,
        clock: any Clock = SystemClock()
    ) {
        self.transport = transport
        self.author = author
        declaredModel = model
        do throws(ModelError) {
            compiledModel = try model.map { model throws(ModelError) in try CompiledModel(model) }
            declarationProblem = Self.problem(withAuthor: author)
        } catch {
            compiledModel = nil
            declarationProblem = TandemError(.usage, error.description)
        }
        self.limits = limits
        self.clock = clock
        payloads = PayloadHub(limits)
        let ring = RecentTransactions(
            floor: 0, maximumCount: limits.recentTransactions, maximumBytes: limits.recentBytes)
        state = Locked(ConnectionState(ring: ring))
    }

    private static func problem(withAuthor author: String) -> TandemError? {
        do throws(TandemError) {
            try WireLimits.check(name: author, of: "author")
            return nil
        } catch {
            return error
        }
    }

    // MARK: Sessions

    /// Returns the session; blocks until there is a connection.
    ///
    /// If `isPatient` is false, throws the error of the first failed attempt to connect.
    func session(isPatient: Bool = true) throws(TandemError) -> ServerState {
        try requestSession(isPatient).wait(with: semaphores).get()
    }

    /// Returns the session after waiting for a connection, like ``session(isPatient:)``.
    func sessionAsync(isPatient: Bool = true) async throws(TandemError) -> ServerState {
        try await requestSession(isPatient).value().get()
    }

    /// The last known session; nil before the first connection.
    var knownSession: ServerState? { state.withLock { $0.session } }
    /// The generation of the last known session.
    var knownGeneration: Int? { state.withLock { $0.session?.generation } }

    /// Returns a promise of the session; unless `isPatient`, it fails at the first failed attempt.
    func requestSession(_ isPatient: Bool) -> ReplyPromise<ServerState> {
        let reply = ReplyPromise<ServerState>()
        let deadline = deadline(after: limits.connectMilliseconds)
        let outcome = state.withLock { state -> ReplyPromise<ServerState>.Outcome? in
            if let error = state.closedError { return .failure(error) }
            if state.phase == .ready, let session = state.session { return .success(session) }
            state.sessionWaiters.append(
                SessionWaiter(reply: reply, deadline: deadline, isPatient: isPatient))
            state.io.wake?.signal()
            return nil
        }
        if let outcome { reply.resolve(outcome) } else { startIfIdle() }
        return reply
    }

    // MARK: Requests

    /// Sends a request and blocks until the answer, or its head if `chunks` is given, arrives.
    func answer(
        _ message: ClientMessage, into chunks: ChunkReader? = nil, at position: Position? = nil
    ) -> Result<DaemonMessage, TandemError> {
        answer(of: send(message, into: chunks, at: position), spins: message.isReadOnly)
    }

    /// Blocks until the answer to a sent request arrives.
    ///
    /// If `spins` is true, the thread polls without sleeping if recent answers arrived quickly.
    /// Saves don't spin, because they wait for the disk.
    func answer<Answer>(
        of reply: ReplyPromise<Answer>, spins: Bool = false
    ) -> Result<Answer, TandemError> {
        read(until: reply, spins: spins)
        return reply.wait(with: semaphores)
    }

    /// Returns the next chunk of an answer that has begun, or nil at the end; blocks.
    ///
    /// Throws the error that ended the answer early. After the loss of the connection
    /// (``ChunkReader/isLost``), repeat the request.
    func next(of chunks: ChunkReader) throws(TandemError) -> FetchedChunk? {
        while true {
            switch try chunks.next() {
            case .part(let part): return part
            case .end: return nil
            // The next call to `next()` throws the error.
            case .wait(let reply): _ = answer(of: reply)
            }
        }
    }

    /// Reads on the calling thread until a reply is resolved or the connection ends.
    ///
    /// Returns at once if another thread is reading.
    private func read<Answer>(until reply: ReplyPromise<Answer>, spins: Bool) {
        let found = state.withLock { $0.phase == .ready ? ($0.io.inbound, $0.io.wake) : (nil, nil) }
        guard case (let inbound?, let wake) = found else { return }
        guard inbound.beginTurn() else { return inbound.demand() }
        var isOver = false
        while !isOver, !reply.isResolved {
            do {
                let wait = timeout()
                let result = try inbound.receive(self, milliseconds: wait, spins: spins)
                if result == .wouldBlock || wait == 0 { expire() }
                isOver = result == .closed
            } catch {
                isOver = true
            }
        }
        inbound.endTurn(isQuiet: isQuiet)
        // The connection's thread detects the end as well, and reconnects.
        if isOver { wake?.signal() }
    }

    /// Whether the thread need not read: no answer is outstanding, and pushes have no listener.
    private var isQuiet: Bool { state.withLock { $0.expectsNothing } && !payloads.hasEventReaders }

    /// Makes the connection's thread read, whether or not a caller waits for an answer.
    func listen() { state.withLock { $0.io.inbound }?.demand() }

    /// Sends a request and awaits its answer.
    func answerAsync(
        _ message: ClientMessage
    ) async -> Result<DaemonMessage, TandemError> {
        await submit(message).value()
    }

    /// Sends a request whose answer the connection's thread reads.
    func submit(
        _ message: ClientMessage, at position: Position? = nil
    ) -> ReplyPromise<DaemonMessage> {
        defer { listen() }
        return send(message, at: position)
    }

    /// Sends a request; to get the answer, read on this thread or call ``listen()``.
    ///
    /// If a position is given, the request fails with `historyExpired` once the daemon's log or
    /// epoch differs from the position's, even if it is sent again after a reconnection.
    func send(
        _ message: ClientMessage, into chunks: ChunkReader? = nil, at position: Position? = nil
    ) -> ReplyPromise<DaemonMessage> {
        let reply = ReplyPromise<DaemonMessage>()
        let (refusal, isIdle) = state.withLock { state -> (TandemError?, Bool) in
            if let error = state.closedError { return (error, false) }
            let wait = timeoutMilliseconds(for: message, isReady: state.phase == .ready)
            state.submit(
                PendingRequest(
                    message: message, reply: reply, deadline: deadline(after: wait),
                    position: position, chunkReader: chunks))
            return (nil, state.phase == .idle)
        }
        if let refusal { reply.resolve(.failure(refusal)) }
        if isIdle { startIfIdle() }
        return reply
    }

    /// Returns the time that a request may wait for its answer or for a connection.
    func timeoutMilliseconds(for message: ClientMessage, isReady: Bool) -> UInt64 {
        guard isReady else { return limits.connectMilliseconds }
        switch message {
        case .sync(let sync): return UInt64(sync.timeoutMilliseconds) + limits.connectMilliseconds
        case .batch, .insert, .schema: return limits.batchMilliseconds
        default: return limits.answerMilliseconds
        }
    }

    func deadline(after milliseconds: UInt64) -> UInt64 {
        clock.monotonicNanoseconds &+ milliseconds &* 1_000_000
    }

    // MARK: Transactions

    /// The transactions after a position, if the ring still has them.
    enum Recent {
        /// The transactions, in order.
        case transactions([Transaction])
        /// The position precedes the transactions in the ring, which begin after `floor`.
        case expired(floor: UInt64)
        /// The stream was interrupted; restart in this session.
        case interrupted(ServerState)
    }

    /// Returns the transactions of interest after `low`, up to `high`.
    func recent(after low: UInt64, through high: UInt64, generation: Int) -> Recent {
        state.withLock { state in
            if let session = state.session, session.generation != generation {
                return .interrupted(session)
            }
            state.dropMerged()
            if let found = state.ring.transactions(after: low, through: high) {
                return .transactions(found)
            }
            return .expired(floor: state.ring.floor)
        }
    }

    /// Returns the next number for a new object, or nil if the caller has to request a lease.
    ///
    /// If few numbers are left, requests more in advance.
    func nextNumber() -> ObjectNumber? {
        let (number, wanted) = state.withLock { state -> (ObjectNumber?, UInt32?) in
            let number = state.leases.next()
            let isLow = number != nil && state.leases.isLow
            guard isLow, !state.leases.isAsking, state.phase == .ready else { return (number, nil) }
            state.leases.isAsking = true
            return (number, state.leases.nextCount)
        }
        if let wanted { _ = submit(.lease(count: wanted)) }
        return number
    }

    /// The number of object numbers in the next lease.
    var leaseCount: UInt32 { state.withLock { $0.leases.nextCount } }

    /// The entities that the session subscribes to.
    var interests: Set<EntityTag> { state.withLock { $0.interests } }

    // MARK: Contexts and closing

    func attach(_ receiver: any PushReceiver) {
        state.withLock { $0.receivers.append(receiver) }
    }

    func detach(_ receiver: any PushReceiver) {
        state.withLock { $0.receivers.removeAll { $0 === receiver } }
    }

    /// Ends the thread; requests in flight and all later requests fail.
    func close() { fail(TandemError(.disconnected, "the container was closed")) }

    /// Ends the thread because the daemon permanently rejects this client.
    ///
    /// Signals the contexts, so that their lists report the error.
    func end(_ error: TandemError) {
        fail(error)
        for receiver in state.withLock({ $0.receivers }) { receiver.signal() }
    }

    /// The error that closed the connection permanently; nil while it is open.
    var ending: TandemError? { state.withLock { $0.closedError } }

    /// Ends the thread with an error, which all waiting and all later requests receive.
    func fail(_ error: TandemError) {
        let (requests, waiters) = state.withLock { state in
            state.end(error)
            state.io.inbound?.socket.shutdown()
            state.io.wake?.signal()
            let requests = state.requests.removeAll() + state.queue
            let waiters = state.sessionWaiters.map(\.reply)
            state.queue.removeAll()
            state.sessionWaiters.removeAll()
            return (requests, waiters)
        }
        for request in requests { request.fail(tooLate(request, error)) }
        for waiter in waiters { waiter.resolve(.failure(error)) }
        payloads.finish()
    }

    private func startIfIdle() {
        guard state.withLock({ $0.begin() }) else { return }
        do {
            let wake = try WakeUp()
            state.withLock { $0.io.wake = wake }
            _ = try KernelThread.start(name: "tandem") { [self] in
                ConnectionThread(self, wake).run()
            }
        } catch {
            fail(TandemError(.limitExceeded, "the connection's thread cannot be started: \(error)"))
        }
    }
}
