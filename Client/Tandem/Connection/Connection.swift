import TandemIO
import TandemModel
import TandemWire

/// One socket to the daemon and the one thread that reads it.
///
/// Requests are written by the thread that makes them. The connection is made at the first use, made again
/// when it is lost, and goes on at the last position; what was in flight is sent again: saves under their id.
final class Connection: Sendable {
    let transport: Transport
    let author: String
    let declaredModel: Model?
    /// The same by itself, which says what it holds; nil without one or where it can't be used.
    let compiledModel: CompiledModel?
    /// The error in the model or in the author's name; nil if both are valid.
    let declarationProblem: TandemError?
    let limits: ClientLimits
    let state: Locked<ConnectionState>
    let clock: any Clock
    let payloads: PayloadHub
    private let latches = LatchPool()

    init(
        transport: Transport, author: String, model: Model?, limits: ClientLimits,
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
        let ring = TransactionRing(
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

    /// The session, waiting for a connection if there is none.
    func session() throws(TandemError) -> Session {
        try requestSession().wait(with: latches).get()
    }

    nonisolated(nonsending) func sessionAsync() async throws(TandemError) -> Session {
        try await requestSession().value().get()
    }

    /// The session as it was last known; nil before the first connection.
    var knownSession: Session? { state.withLock { $0.session } }

    /// The generation of that session.
    var knownGeneration: Int? { state.withLock { $0.session?.generation } }

    private func requestSession() -> Reply<Session> {
        let reply = Reply<Session>()
        let deadline = deadline(after: limits.connectMilliseconds)
        let outcome = state.withLock { state -> Reply<Session>.Outcome? in
            if state.phase == .closed { return .failure(state.closedError) }
            if state.phase == .ready, let session = state.session { return .success(session) }
            state.sessionWaiters.append((reply, deadline))
            state.wake?.signal()
            return nil
        }
        if let outcome { reply.settle(outcome) } else { startIfIdle() }
        return reply
    }

    // MARK: Requests

    /// Sends a request and waits for its answer on the calling thread, or for its beginning where `parts` are to take the rest.
    func answer(
        _ message: ClientMessage, into parts: AnswerParts? = nil
    ) -> Result<DaemonMessage, TandemError> {
        answer(of: send(message, into: parts), spins: message.isQuestion)
    }

    /// Waits for the answer to a request that was sent, on the calling thread.
    ///
    /// Where it spins, not asleep if answers have come early of late; a save waits for the disk, which takes longer.
    func answer<Answer>(
        of reply: Reply<Answer>, spins: Bool = false
    ) -> Result<Answer, TandemError> {
        read(until: reply, spins: spins)
        return reply.wait(with: latches)
    }

    /// The next part of an answer that has begun, waited for on the calling thread; nil at the end.
    ///
    /// Throws what broke the answer off; where the connection was lost (``AnswerParts/isLost``), ask again.
    func next(of parts: AnswerParts) throws(TandemError) -> FetchedPart? {
        while true {
            switch try parts.next() {
            case .part(let part): return part
            case .end: return nil
            // What broke it off is thrown by the next look.
            case .wait(let reply): _ = answer(of: reply)
            }
        }
    }

    /// Reads on the calling thread until a reply is there or the conversation ends, unless another one does.
    private func read<Answer>(until reply: Reply<Answer>, spins: Bool) {
        let found = state.withLock { $0.phase == .ready ? ($0.intake, $0.wake) : (nil, nil) }
        guard case (let intake?, let wake) = found else { return }
        guard intake.beginTurn() else { return intake.demand() }
        var isOver = false
        while !isOver, !reply.isSettled {
            do {
                let wait = timeout()
                let result = try intake.receive(self, milliseconds: wait, spins: spins)
                if result == .wouldBlock || wait == 0 { expire() }
                isOver = result == .closed
            } catch {
                isOver = true
            }
        }
        intake.endTurn(isQuiet: isQuiet)
        // The connection's thread finds the same and connects anew.
        if isOver { wake?.signal() }
    }

    /// Whether nothing is to come: the daemon owes no answer and pushes nothing that anyone would hear.
    private var isQuiet: Bool { state.withLock { $0.expectsNothing } && !payloads.hasEars }

    /// Lets the connection's thread read what comes, whether or not somebody waits for an answer.
    func listen() { state.withLock { $0.intake }?.demand() }

    /// Sends a request and awaits its answer.
    nonisolated(nonsending) func answerAsync(
        _ message: ClientMessage
    ) async -> Result<DaemonMessage, TandemError> {
        await submit(message).value()
    }

    /// Sends a request whose answer the connection's thread reads.
    func submit(_ message: ClientMessage) -> Reply<DaemonMessage> {
        defer { listen() }
        return send(message)
    }

    /// Sends a request; whoever needs the answer has to read, or let read.
    func send(_ message: ClientMessage, into parts: AnswerParts? = nil) -> Reply<DaemonMessage> {
        let reply = Reply<DaemonMessage>()
        let (refusal, isIdle) = state.withLock { state -> (TandemError?, Bool) in
            if state.phase == .closed { return (state.closedError, false) }
            let wait = patience(for: message, state.phase == .ready)
            state.submit(
                PendingRequest(
                    message: message, reply: reply, deadline: deadline(after: wait), parts: parts))
            return (nil, state.phase == .idle)
        }
        if let refusal { reply.settle(.failure(refusal)) }
        if isIdle { startIfIdle() }
        return reply
    }

    /// The milliseconds that a request waits for its answer, or for a connection.
    func patience(for message: ClientMessage, _ isReady: Bool) -> UInt64 {
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

    /// What happened above a position, as far as it is still at hand.
    enum Recent {
        /// The transactions, in order.
        case transactions([Transaction])
        /// What is kept begins after this position.
        case behind(floor: UInt64)
        /// The stream was interrupted: start anew.
        case interrupted(Session)
    }

    /// The transactions of interest above `low`, up to `high`.
    func recent(after low: UInt64, through high: UInt64, generation: Int) -> Recent {
        state.withLock { state in
            if let session = state.session, session.generation != generation {
                return .interrupted(session)
            }
            state.dropMerged()
            if let found = state.ring.transactions(after: low, through: high) {
                return .transactions(found)
            }
            return .behind(floor: state.ring.floor)
        }
    }

    /// The next number for a new object, or nil when the caller has to ask for a lease; more are asked for ahead of that.
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

    /// How many numbers are asked for at once.
    var leaseCount: UInt32 { state.withLock { $0.leases.nextCount } }

    /// The entities that the session follows.
    var interests: Set<EntityTag> { state.withLock { $0.interests } }

    // MARK: Contexts and life

    func attach(_ link: ContextLink) {
        state.withLock { $0.links.append(link) }
    }

    func detach(_ link: ContextLink) {
        state.withLock { $0.links.removeAll { $0 === link } }
    }

    /// Ends the thread; requests in flight and all that follow fail.
    func close() { fail(TandemError(.disconnected, "the container was closed")) }

    /// Ends the thread because the daemon won't have this client any more, and lets contexts that follow tell their lists.
    func end(_ error: TandemError) {
        fail(error)
        for link in state.withLock({ $0.links }) { link.signal() }
    }

    /// Why it has ended for good; nil while it goes on.
    var ending: TandemError? { state.withLock { $0.phase == .closed ? $0.closedError : nil } }

    /// Ends the thread because of an error, which everything that waits and all that follows is told.
    func fail(_ error: TandemError) {
        let (requests, waiters) = state.withLock { state in
            if state.phase != .closed { state.closedError = error }
            state.phase = .closed
            state.intake?.socket.shutdown()
            state.wake?.signal()
            let requests = state.requests.removeAll() + state.queue
            let waiters = state.sessionWaiters.map(\.reply)
            state.queue.removeAll()
            state.sessionWaiters.removeAll()
            return (requests, waiters)
        }
        for request in requests { request.fail(tooLate(request, error)) }
        for waiter in waiters { waiter.settle(.failure(error)) }
        payloads.finish()
    }

    private func startIfIdle() {
        let isFirst = state.withLock { state in
            guard state.phase == .idle else { return false }
            state.phase = .connecting
            return true
        }
        guard isFirst else { return }
        do {
            let wake = try WakeUp()
            state.withLock { $0.wake = wake }
            _ = try KernelThread.start(name: "tandem") { [self] in
                ConnectionThread(self, wake).run()
            }
        } catch {
            fail(TandemError(.limitExceeded, "the connection's thread can't be started: \(error)"))
        }
    }
}
