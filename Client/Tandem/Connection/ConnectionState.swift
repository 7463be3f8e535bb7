import DequeModule
import TandemIO
import TandemModel
import TandemWire

/// A request that has no answer yet.
struct PendingRequest: Sendable {
    var message: ClientMessage
    var reply: ReplyPromise<DaemonMessage>
    /// The deadline, in nanoseconds of the monotonic clock.
    var deadline: UInt64
    /// The number of times the connection was lost while the request was in flight.
    var losses = 0
    /// The last known position when the request was first sent.
    var sentAt: UInt64?
    /// Whether the request was sent before, in which case it may have been carried out.
    var wasSent = false
    /// Whether the request was cancelled and the daemon was notified.
    var isCancelled = false
    /// A position that the request refers to; in a different log or epoch, the request fails with
    /// `historyExpired`.
    var position: Position?
    /// The reader of the answer's chunks, if the caller passed one.
    weak var chunkReader: ChunkReader?
    /// The answer whose head has arrived, while chunks of it follow.
    var chunked: ChunkedAnswer?
    /// Whether the answer's head was delivered to the caller, who takes its chunks from the reader.
    var deliveredHead = false

    /// Fails the request, or ends the answer whose head was delivered.
    func fail(_ error: TandemError) {
        if deliveredHead { chunkReader?.breakOff(error) } else { reply.resolve(.failure(error)) }
    }

    /// Fails the request because the connection was lost.
    ///
    /// A caller that has received the head of the answer may repeat the request.
    func lose(_ error: TandemError) {
        guard deliveredHead else { return reply.resolve(.failure(error)) }
        chunkReader?.breakOff(error, isLost: true)
    }
}

/// A caller that waits until the connection is ready.
struct SessionWaiter: Sendable {
    let reply: ReplyPromise<ServerState>
    /// The deadline, in nanoseconds of the monotonic clock.
    let deadline: UInt64
    /// Whether the caller waits for further attempts after a failed attempt.
    let isPatient: Bool
}

/// The state of a connection; guarded by the connection's mutex.
struct ConnectionState: Sendable {
    /// The stage of the connection as a whole, which outlives its sockets.
    enum Phase { case idle, connecting, ready, closed }

    /// The stage of the connection; ready only if the current socket is ready.
    ///
    /// Stored, because every request reads it several times.
    private(set) var phase = Phase.idle

    /// Updates the stage after `machine` or `life` has changed.
    ///
    /// A violation of the protocol leaves the stage unchanged until the socket is lost, so that the
    /// loss of a ready connection is reported.
    private mutating func updatePhase() {
        switch life {
        case .unused: phase = .idle
        case .used: phase = machine?.state == .ready ? .ready : .connecting
        case .ended: phase = .closed
        }
    }

    /// The error that closed the connection permanently; nil while it is open.
    var closedError: TandemError? { if case .ended(let error) = life { error } else { nil } }

    private enum Life {
        case unused, used
        /// Closed permanently because of this error.
        case ended(TandemError)
    }

    private var life = Life.unused
    /// The protocol's state on the current socket; nil while there is none.
    private var machine: ClientConnectionStateMachine?
    var io = ConnectionIO()
    /// The requests in flight.
    var requests = InFlightRequests()
    /// Requests that wait for a connection or for room, in order.
    var queue: Deque<PendingRequest> = []
    var session: ServerState?
    var sessionWaiters: [SessionWaiter] = []
    var ring: RecentTransactions
    var interests: Set<EntityTag> = []
    var leases = LeasedNumbers()
    var disconnection = Disconnection()
    var pins = PinnedPositions()
    var receivers: [any PushReceiver] = []
    var daemon = KnownDaemon()

    init(ring: RecentTransactions) { self.ring = ring }

    /// Encodes a message and sends as much as the socket accepts.
    mutating func send(_ message: ClientMessage, id: UInt32) throws(TandemError) {
        try io.send(message, id: id, daemon.limits)
    }

    /// Sends a request if there is room; otherwise queues it.
    mutating func submit(_ request: PendingRequest) {
        guard phase == .ready, queue.isEmpty, hasRoom else {
            queue.append(request)
            io.wake?.signal()
            return
        }
        dispatch(request)
    }

    private var hasRoom: Bool { machine?.hasRoom ?? false }

    private mutating func dispatch(_ request: PendingRequest) {
        if let position = request.position, let now = session?.position(0),
            !position.isComparable(with: now)
        {
            return request.fail(TandemError.foreign(position))
        }
        var sent = request
        if request.wasSent { sent.message = request.message.repeated(firstSentAt: request.sentAt) }
        sent.wasSent = true
        sent.sentAt = sent.sentAt ?? session?.position
        let more = WireCoding.interests(of: request.message)
        if !more.isEmpty { interests.formUnion(more) }
        do throws(TandemError) {
            guard let id = try machine?.begin() else { return queue.insert(request, at: 0) }
            do throws(TandemError) {
                try send(sent.message, id: id)
                requests.add(sent, id: id)
            } catch {
                // The daemon will not answer a request that was not sent.
                _ = machine?.received(failure: id)
                throw error
            }
        } catch {
            request.fail(error)
        }
    }

    /// Sends queued requests while there is room.
    mutating func dispatchQueue() {
        guard phase == .ready else { return }
        while !queue.isEmpty, hasRoom {
            dispatch(queue.removeFirst())
        }
    }

    /// Cancels a request: removes it from the queue, or notifies the daemon if it is in flight.
    mutating func cancel(_ reply: ReplyPromise<DaemonMessage>) {
        if let index = queue.firstIndex(where: { $0.reply === reply }) {
            queue.remove(at: index)
        } else if let id = requests.cancel(reply) {
            // A message this short fits any limit; if the connection is lost, the request ends
            // anyway.
            try? send(.cancel, id: id)
        }
    }

    /// Moves all requests in flight back to the queue, in sending order, except cancelled ones.
    ///
    /// Returns the requests that are not sent again: requests with a partially delivered answer,
    /// and requests that were in flight during too many losses. A request of the second kind may be
    /// what makes the daemon close the connection.
    mutating func requeue(deadline: UInt64, attempts: Int) -> [PendingRequest] {
        let unanswered = requests.removeAll().filter { !$0.isCancelled }.map { sent in
            var request = sent
            request.deadline = min(request.deadline, deadline)
            request.losses += 1
            request.chunked = nil
            return request
        }
        io.outbox.removeAll()
        func shouldRetry(_ request: PendingRequest) -> Bool {
            request.losses < attempts && !request.deliveredHead
        }
        queue.insert(contentsOf: unanswered.filter(shouldRetry), at: 0)
        return unanswered.filter { !shouldRetry($0) }
    }

    /// Removes and returns the saves and batches whose ids the daemon may have forgotten.
    ///
    /// If they were sent again, they might be applied twice.
    mutating func forgotten(below floor: UInt64) -> [PendingRequest] {
        func isForgotten(_ request: PendingRequest) -> Bool {
            guard request.message.isKeptUnderID,
                let sentAt = request.message.firstSentAt ?? request.sentAt
            else { return false }
            return sentAt < max(floor, 1) - 1
        }
        defer { queue.removeAll(where: isForgotten) }
        return queue.filter(isForgotten)
    }

    /// Removes and returns the requests and session promises whose deadlines have passed.
    ///
    /// After a failed attempt to connect, the promises of impatient callers are included.
    mutating func expired(
        at now: UInt64, _ limits: ClientLimits
    ) -> (requests: [PendingRequest], sessions: [ReplyPromise<ServerState>]) {
        let absence = absence(limits)
        func isOver(_ deadline: UInt64) -> Bool {
            (absence?.end(ofWaitUntil: deadline) ?? deadline) <= now
        }
        var late = requests.removeAll { isOver($0.deadline) }
        late += queue.filter { isOver($0.deadline) }
        queue.removeAll { isOver($0.deadline) }
        let hasFailed = phase != .ready && disconnection.lastError != nil
        func isLate(_ waiter: SessionWaiter) -> Bool {
            isOver(waiter.deadline) || (hasFailed && !waiter.isPatient)
        }
        let waiters = sessionWaiters.filter(isLate).map(\.reply)
        sessionWaiters.removeAll(where: isLate)
        return (late, waiters)
    }

    /// Returns the daemon's absence, which shortens callers' waits; nil if a daemon was found.
    func absence(_ limits: ClientLimits) -> Absence? {
        guard session == nil, let start = disconnection.absentSince else { return nil }
        return Absence(since: start, limits)
    }

    /// Returns the time when the first caller without a connection fails; nil if no caller waits.
    func nextEnd(_ limits: ClientLimits) -> UInt64? {
        nextDeadline.map { absence(limits)?.end(ofWaitUntil: $0) ?? $0 }
    }

    /// The earliest deadline of all requests and session promises.
    var nextDeadline: UInt64? {
        var earliest: UInt64?
        func consider(_ deadline: UInt64) { earliest = min(earliest ?? deadline, deadline) }
        if let deadline = requests.earliestDeadline { consider(deadline) }
        for request in queue { consider(request.deadline) }
        for waiter in sessionWaiters { consider(waiter.deadline) }
        return earliest
    }

    /// Whether no answer is outstanding and this process has no subscription.
    var expectsNothing: Bool {
        phase == .ready && interests.isEmpty && requests.isEmpty && queue.isEmpty
    }

    // MARK: Protocol

    /// Whether the current socket is usable for requests.
    var isReady: Bool { phase == .ready }

    /// Marks the connection as used; returns false if it was used before.
    mutating func begin() -> Bool {
        guard case .unused = life else { return false }
        life = .used
        updatePhase()
        return true
    }

    /// Ends the connection permanently; a later error does not replace the first.
    mutating func end(_ error: TandemError) {
        if closedError == nil { life = .ended(error) }
        updatePhase()
    }

    /// Sends the hello on a new socket.
    mutating func greet(_ hello: Hello) throws(TandemError) {
        var machine = ClientConnectionStateMachine(hello: hello)
        guard case .send(let hello) = machine.connected() else { return }
        self.machine = machine
        updatePhase()
        try send(.hello(hello), id: 0)
    }

    /// Records the loss of the socket.
    mutating func loseSocket() {
        machine = nil
        updatePhase()
        io.inbound = nil
    }

    /// Records the welcome; returns whether the stream resumes, and the position at which it
    /// resumes.
    mutating func welcomed(
        _ welcome: Welcome, installsModel: Bool
    ) throws(TandemError) -> (isResumed: Bool, cursor: UInt64) {
        switch machine?.received(welcome, installsModel: installsModel) {
        case .resume:
            updatePhase()
            return (true, machine?.cursor ?? 0)
        case .refresh:
            updatePhase()
            return (false, welcome.position)
        case .close(let error): throw TandemError(.storage, error.message)
        case nil: throw TandemError(.disconnected, "the connection was lost")
        }
    }

    /// Records that the daemon has accepted the model.
    mutating func installedModel(at position: UInt64) throws(TandemError) {
        guard machine?.state == .installingModel else {
            throw TandemError.unexpectedAnswer("its model")
        }
        machine?.installedModel(position: position)
        updatePhase()
        followCursor()
    }

    /// Records an answer or a chunk; returns whether a request in flight has the message's id.
    mutating func receivedAnswer(_ message: DaemonMessage, id: UInt32) -> Bool {
        let action = machine?.received(
            answer: id, position: message.announcedPosition,
            isLast: message.isLastOfAnswer)
        followCursor()
        return action == .complete || action == .partial
    }

    /// Records a push; throws `storage` if the push does not follow the cursor.
    ///
    /// After the error, the connection resumes at the cursor.
    mutating func receivedPush(
        from previous: UInt64, to position: UInt64
    ) throws(TandemError) {
        switch machine?.received(push: previous, position: position) {
        case .deliver: break
        case .gap(let cursor, _):
            throw TandemError(
                .storage, "transactions are missing: \(position) follows \(previous), not \(cursor)"
            )
        case .ignore, nil:
            throw TandemError(.storage, "the daemon sent a push before its welcome")
        }
    }

    /// Returns whether the greeting is unfinished at its deadline, so that the socket has to be
    /// closed.
    mutating func greetingTimedOut() -> Bool { machine?.handshakeTimedOut() == .close }

    /// Moves the session's position to the cursor, after an answer or a processed push.
    mutating func followCursor() {
        if let cursor = machine?.cursor { session?.position = cursor }
    }

    /// Removes transactions that every context has merged.
    ///
    /// A context without a position may still need all of them.
    mutating func dropMerged() {
        ring.drop(through: receivers.lazy.map(\.merged).min() ?? 0)
    }

}

extension ClientMessage {
    /// Whether the daemon remembers the request's effect under a save id or batch id.
    var isKeptUnderID: Bool {
        switch self {
        case .save(let save): !save.onlyAsks
        case .batch: true
        case .insert(let insert): !insert.rows.isEmpty
        default: false
        }
    }

    /// The last known position when the message was first sent, as the message records it.
    fileprivate var firstSentAt: UInt64? {
        switch self {
        case .save(let save): save.firstSentAt
        case .batch(let batch): batch.firstSentAt
        case .insert(let insert): insert.firstSentAt
        default: nil
        }
    }

    /// Returns the message marked as a repetition.
    fileprivate func repeated(firstSentAt: UInt64?) -> ClientMessage {
        switch self {
        case .save(var save):
            save.firstSentAt = save.firstSentAt ?? firstSentAt
            return .save(save)
        case .batch(var batch):
            batch.firstSentAt = batch.firstSentAt ?? firstSentAt
            return .batch(batch)
        case .insert(var insert):
            insert.firstSentAt = insert.firstSentAt ?? firstSentAt
            return .insert(insert)
        default: return self
        }
    }
}
