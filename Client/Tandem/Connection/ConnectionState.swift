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
    /// The reader of the answer's chunks, if the caller passed one.
    weak var chunkReader: ChunkReader?
    /// The answer assembled so far, if chunks of it arrived and there is no chunk reader.
    var assembled: FetchAnswer?
    /// Whether the answer's head was delivered to the caller and chunks follow.
    var deliveredHead = false

    /// Fails the request, or ends the answer whose head was delivered.
    func fail(_ error: TandemError) {
        if deliveredHead { chunkReader?.breakOff(error) } else { reply.resolve(.failure(error)) }
    }

    /// Fails the request because the connection was lost.
    ///
    /// A caller that has received the head of the answer may ask again.
    func lose(_ error: TandemError) {
        guard deliveredHead else { return reply.resolve(.failure(error)) }
        chunkReader?.breakOff(error, isLost: true)
    }
}

/// The state of a connection; guarded by the connection's mutex.
struct ConnectionState: Sendable {
    enum Phase { case idle, connecting, greeting, installing, ready, closed }

    var phase = Phase.idle
    var inbound: InboundReader?
    var wake: WakeUp?
    /// Bytes that the socket has not accepted yet.
    var outbox: [UInt8] = []
    /// The requests in flight.
    var requests = InFlightRequests()
    /// Requests that wait for a connection or for room, in order.
    var queue: Deque<PendingRequest> = []
    var lastID: UInt32 = 0
    var session: ServerState?
    var sessionWaiters: [(reply: ReplyPromise<ServerState>, deadline: UInt64)] = []
    var ring: RecentTransactions
    var interests: Set<EntityTag> = []
    var leases = LeasedNumbers()
    /// The time when the socket was first found without a daemon; nil while one listens.
    ///
    /// In nanoseconds of the monotonic clock.
    var absentSince: UInt64?
    /// The positions that contexts have pinned, by pin number.
    ///
    /// After a reconnect, the pins are set again.
    var pins: [UInt32: UInt64] = [:]
    var lastPin: UInt32 = 0
    var links: [ContextLink] = []
    /// The position of the last answer assembled from chunks.
    var gatheredAt: UInt64 = 0
    var lastError: TandemError?
    /// Whether the daemon is read-only.
    var isReadOnly = false
    /// The limits in the daemon's last welcome.
    var daemonLimits = SessionLimits()
    /// The number of used controller slots.
    var openControllers = 0
    /// The error that closed the connection permanently.
    var closedError = TandemError(.disconnected, "the container was closed")

    /// Encodes a message and sends as much as the socket accepts.
    mutating func send(_ message: ClientMessage, id: UInt32) throws(TandemError) {
        let wasEmpty = outbox.isEmpty
        try WireCoding.encode(message, id: id, daemonLimits, into: &outbox)
        if wasEmpty { flush() } else { wake?.signal() }
    }

    /// Writes as much as the socket accepts; if bytes remain, wakes the thread to write them later.
    mutating func flush() {
        guard let socket = inbound?.socket, !outbox.isEmpty else { return }
        let result = outbox.withUnsafeBytes { try? socket.write($0, waits: false) }
        switch result {
        case .bytes(let count) where count == outbox.count:
            outbox.removeAll(keepingCapacity: outbox.count < 1 << 20)
            return
        case .bytes(let count): outbox.removeFirst(count)
        // The reader detects that the daemon is gone.
        case .wouldBlock, .closed, nil: break
        }
        wake?.signal()
    }

    /// Sends a request if there is room, or else queues it.
    mutating func submit(_ request: PendingRequest) {
        guard phase == .ready, queue.isEmpty, hasRoom else {
            queue.append(request)
            wake?.signal()
            return
        }
        dispatch(request)
    }

    private var hasRoom: Bool { requests.count < WireCoding.requestsInFlight(daemonLimits) }

    private mutating func dispatch(_ request: PendingRequest) {
        lastID = lastID == .max ? 1 : lastID + 1
        var sent = request
        if request.wasSent { sent.message = request.message.repeated(firstSentAt: request.sentAt) }
        sent.wasSent = true
        sent.sentAt = sent.sentAt ?? session?.position
        let more = WireCoding.interests(of: request.message)
        if !more.isEmpty { interests.formUnion(more) }
        do throws(TandemError) {
            try send(sent.message, id: lastID)
            requests.add(sent, id: lastID)
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
            // A few bytes always fit; the loss of the connection ends the request anyway.
            try? send(.cancel, id: id)
        }
    }

    /// Moves all requests in flight back to the queue, in sending order, except cancelled ones.
    ///
    /// Returns the requests that can't be sent again. These are requests that were in flight at too
    /// many losses, because one of them may be why the daemon closes the connection. Requests whose
    /// answer was partly delivered are returned as well.
    mutating func requeue(deadline: UInt64, attempts: Int) -> [PendingRequest] {
        let unanswered = requests.removeAll().filter { !$0.isCancelled }.map { sent in
            var request = sent
            request.deadline = min(request.deadline, deadline)
            request.losses += 1
            request.assembled = nil
            return request
        }
        outbox.removeAll()
        func shouldRetry(_ request: PendingRequest) -> Bool {
            request.losses < attempts && !request.deliveredHead
        }
        queue.insert(contentsOf: unanswered.filter(shouldRetry), at: 0)
        return unanswered.filter { !shouldRetry($0) }
    }

    /// Removes and returns the saves and batches whose ids the daemon may have forgotten.
    ///
    /// Sent again, they might be applied twice.
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

    /// Removes and returns the requests and session promises whose deadline has passed.
    mutating func expired(
        at now: UInt64
    ) -> (requests: [PendingRequest], sessions: [ReplyPromise<ServerState>]) {
        var late = requests.removeAll { $0.deadline <= now }
        late += queue.filter { $0.deadline <= now }
        queue.removeAll { $0.deadline <= now }
        let waiters = sessionWaiters.filter { $0.deadline <= now }.map(\.reply)
        sessionWaiters.removeAll { $0.deadline <= now }
        return (late, waiters)
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

    /// Validates that a push follows the cursor.
    ///
    /// After a gap, the connection is resumed at the cursor.
    func checkPush(from previous: UInt64, to position: UInt64) throws(TandemError) {
        guard phase == .ready || phase == .installing, let cursor = session?.position else {
            throw TandemError(.storage, "the daemon sent a push before its welcome")
        }
        guard previous == cursor, position > previous else {
            throw TandemError(
                .storage, "transactions are missing: \(position) follows \(previous), not \(cursor)"
            )
        }
    }

    /// Removes transactions that every context has merged.
    ///
    /// A context without a position may still need all of them.
    mutating func dropMerged() {
        ring.drop(through: links.lazy.map(\.merged).min() ?? 0)
    }

    /// Moves the cursor forward to a position that an answer announced.
    mutating func announce(_ position: UInt64) {
        if let session, position > session.position { self.session?.position = position }
    }
}

extension ClientMessage {
    /// Whether the request has an effect that the daemon remembers under the request's id.
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

/// The object numbers that this process may give to new objects.
struct LeasedNumbers: Sendable {
    /// Whether a lease was requested and has not arrived.
    var isAsking = false
    private var blocks: [Range<ObjectNumber>] = []
    private var epoch: UInt32 = 0
    private var lastCount: UInt32 = 0
    private static let (fewest, most): (UInt32, UInt32) = (64, 4_096)

    /// The size of the next lease, at least 64 and at most 4,096.
    ///
    /// It doubles with each lease, so that a process that creates one object does not lease
    /// thousands of numbers.
    var nextCount: UInt32 { min(Self.most, max(Self.fewest, lastCount &* 2)) }

    /// Whether another lease should be requested.
    var isLow: Bool { remaining < Int(min(lastCount, Self.most)) / 2 }

    /// Adds a block; blocks of another epoch become void.
    mutating func add(_ lease: Lease) {
        isAsking = false
        if lease.epoch != epoch { blocks.removeAll() }
        epoch = lease.epoch
        lastCount = min(lease.count, Self.most)
        let (end, overflow) = lease.first.addingReportingOverflow(UInt64(lease.count))
        if !overflow, lease.count > 0 { blocks.append(lease.first..<end) }
    }

    /// Removes and returns the next number, or returns nil if a lease has to be requested first.
    mutating func next() -> ObjectNumber? {
        guard let block = blocks.first else { return nil }
        let rest = block.dropFirst()
        if rest.isEmpty { blocks.removeFirst() } else { blocks[0] = rest }
        return block.lowerBound
    }

    /// The number of unused numbers.
    var remaining: Int { blocks.reduce(0) { $0 + $1.count } }
}
