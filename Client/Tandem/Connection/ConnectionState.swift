import TandemIO
import TandemModel
import TandemWire

/// A request that has no answer yet.
struct PendingRequest: Sendable {
    var message: ClientMessage
    var reply: Reply<DaemonMessage>
    /// When it fails, in nanoseconds of the monotonic clock.
    var deadline: UInt64
    /// How often the connection was lost while it was in flight.
    var losses = 0
    /// The last position that was known when it was sent first.
    var sentAt: UInt64?
    /// Whether it was sent before, so that it may have been carried out.
    var wasSent = false
    /// Whether nobody waits for its answer any more, and the daemon was told.
    var isCancelled = false
    /// Who takes the answer's parts as they come, if somebody does.
    weak var parts: AnswerParts?
    /// What came of an answer in parts, if it is put together here.
    var gathered: Fetched?
    /// Whether who asked was told of the answer, of which parts are to come.
    var isTold = false

    /// Tells who waits that no answer comes, or not the rest of it.
    func fail(_ error: TandemError) {
        if isTold { parts?.breakOff(error) } else { reply.settle(.failure(error)) }
    }

    /// The same where the connection was lost; who has some of the answer may ask again.
    func lose(_ error: TandemError) {
        guard isTold else { return reply.settle(.failure(error)) }
        parts?.breakOff(error, isLost: true)
    }
}

/// Everything a connection knows; guarded by the connection's mutex.
struct ConnectionState: Sendable {
    enum Phase { case idle, connecting, greeting, installing, ready, closed }

    var phase = Phase.idle
    var intake: Intake?
    var wake: WakeUp?
    /// Bytes that the socket did not take at once.
    var outbox: [UInt8] = []
    /// Requests that were sent, by their number.
    var requests = SentRequests()
    /// Requests that wait for a connection or for room, in order.
    var queue: [PendingRequest] = []
    var lastID: UInt32 = 0
    var session: Session?
    var sessionWaiters: [(reply: Reply<Session>, deadline: UInt64)] = []
    var ring: TransactionRing
    var interests: Set<EntityTag> = []
    var leases = LeasedNumbers()
    /// Since when nothing listens where the daemon should be; nil once it does.
    var absentSince: UInt64?
    /// Where contexts have pins, by their numbers: they are taken again when a lost connection is back.
    var pins: [UInt32: UInt64] = [:]
    var lastPin: UInt32 = 0
    var links: [ContextLink] = []
    /// The position of the last answer that was put together of parts.
    var gatheredAt: UInt64 = 0
    var lastError: TandemError?
    /// Whether the daemon said that it takes no saves.
    var isReadOnly = false
    /// What the daemon's last welcome asked to keep to.
    var daemonLimits = SessionLimits()
    /// How many places of controllers are taken.
    var openControllers = 0
    /// Why the connection is closed for good.
    var closedError = TandemError(.disconnected, "the container was closed")

    /// Sends a message under a number, at once as far as the socket takes it.
    mutating func send(_ message: ClientMessage, id: UInt32) throws(TandemError) {
        let wasEmpty = outbox.isEmpty
        try WireCoding.encode(message, id: id, daemonLimits, into: &outbox)
        if wasEmpty { flush() } else { wake?.signal() }
    }

    /// Gives the socket what it takes; the thread is woken to see to the rest.
    mutating func flush() {
        guard let socket = intake?.socket, !outbox.isEmpty else { return }
        let result = outbox.withUnsafeBytes { try? socket.write($0, waits: false) }
        switch result {
        case .bytes(let count) where count == outbox.count:
            outbox.removeAll(keepingCapacity: outbox.count < 1 << 20)
            return
        case .bytes(let count): outbox.removeFirst(count)
        // The reading side notices that the daemon is gone.
        case .wouldBlock, .closed, nil: break
        }
        wake?.signal()
    }

    /// Sends a request if there is room, else keeps it in order.
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

    /// Sends what waits, as far as there is room.
    mutating func dispatchQueue() {
        guard phase == .ready else { return }
        while !queue.isEmpty, hasRoom {
            dispatch(queue.removeFirst())
        }
    }

    /// Gives up a request: one that was not sent is not sent, of another the daemon is told.
    mutating func cancel(_ reply: Reply<DaemonMessage>) {
        if let index = queue.firstIndex(where: { $0.reply === reply }) {
            queue.remove(at: index)
        } else if let id = requests.cancel(reply) {
            // A few bytes always fit; a connection that is lost ends the request anyway.
            try? send(.cancel, id: id)
        }
    }

    /// Puts everything in flight back into the queue that somebody waits for, in the order in which it was sent.
    ///
    /// Returns those that were in flight at too many losses: one of them may be what the daemon closes the connection for; and those of
    /// whose answer some was told already.
    mutating func requeue(deadline: UInt64, attempts: Int) -> [PendingRequest] {
        let unanswered = requests.removeAll().filter { !$0.isCancelled }.map { sent in
            var request = sent
            request.deadline = min(request.deadline, deadline)
            request.losses += 1
            request.gathered = nil
            return request
        }
        outbox.removeAll()
        func goesOn(_ request: PendingRequest) -> Bool {
            request.losses < attempts && !request.isTold
        }
        queue.insert(contentsOf: unanswered.filter(goesOn), at: 0)
        return unanswered.filter { !goesOn($0) }
    }

    /// Takes out saves whose ids the daemon may have forgotten: repeated now they might be applied twice.
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

    /// Takes out what has waited too long.
    mutating func expired(
        at now: UInt64
    ) -> (requests: [PendingRequest], sessions: [Reply<Session>]) {
        var late = requests.remove { $0.deadline <= now }
        late += queue.filter { $0.deadline <= now }
        queue.removeAll { $0.deadline <= now }
        let waiters = sessionWaiters.filter { $0.deadline <= now }.map(\.reply)
        sessionWaiters.removeAll { $0.deadline <= now }
        return (late, waiters)
    }

    /// The earliest moment at which something has waited too long.
    var nextDeadline: UInt64? {
        var earliest: UInt64?
        func consider(_ deadline: UInt64) { earliest = min(earliest ?? deadline, deadline) }
        if let deadline = requests.earliestDeadline { consider(deadline) }
        for request in queue { consider(request.deadline) }
        for waiter in sessionWaiters { consider(waiter.deadline) }
        return earliest
    }

    /// Whether the daemon owes no answer and follows nothing for this process.
    var expectsNothing: Bool {
        phase == .ready && interests.isEmpty && requests.isEmpty && queue.isEmpty
    }

    /// Checks that a push follows the cursor; a gap ends the conversation, which is then resumed there.
    func checkPush(from previous: UInt64, to position: UInt64) throws(TandemError) {
        guard phase == .ready || phase == .installing, let cursor = session?.position else {
            throw TandemError(.storage, "the daemon pushed before its welcome")
        }
        guard previous == cursor, position > previous else {
            throw TandemError(
                .storage, "a gap in the stream: \(position) follows \(previous), not \(cursor)")
        }
    }

    /// Lets go of transactions that every context has merged; one that stands nowhere yet may need any of them.
    mutating func dropMerged() {
        ring.drop(through: links.lazy.map(\.merged).min() ?? 0)
    }

    /// Moves the cursor to a position that an answer named.
    mutating func announce(_ position: UInt64) {
        if let session, position > session.position { self.session?.position = position }
    }
}

extension ClientMessage {
    /// Whether it does something that the daemon remembers under its id.
    var isKeptUnderID: Bool {
        switch self {
        case .save(let save): !save.onlyAsks
        case .batch: true
        case .insert(let insert): !insert.rows.isEmpty
        default: false
        }
    }

    /// The last position that was known when it was sent first, by what it says itself.
    fileprivate var firstSentAt: UInt64? {
        switch self {
        case .save(let save): save.firstSentAt
        case .batch(let batch): batch.firstSentAt
        case .insert(let insert): insert.firstSentAt
        default: nil
        }
    }

    /// The same as a repetition.
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
    /// Whether more have been asked for.
    var isAsking = false
    private var blocks: [Range<ObjectNumber>] = []
    private var epoch: UInt32 = 0
    private var lastCount: UInt32 = 0
    private static let (fewest, most): (UInt32, UInt32) = (64, 4_096)

    /// How many are asked for next: twice as many each time, so that who makes one object does not take thousands.
    var nextCount: UInt32 { min(Self.most, max(Self.fewest, lastCount &* 2)) }

    /// Whether it is time to ask for more.
    var isLow: Bool { remaining < Int(min(lastCount, Self.most)) / 2 }

    /// Adds a block; blocks of another epoch are void.
    mutating func add(_ lease: Lease) {
        isAsking = false
        if lease.epoch != epoch { blocks.removeAll() }
        epoch = lease.epoch
        lastCount = min(lease.count, Self.most)
        let (end, overflow) = lease.first.addingReportingOverflow(UInt64(lease.count))
        if !overflow, lease.count > 0 { blocks.append(lease.first..<end) }
    }

    /// The next number, or nil when more have to be asked for first.
    mutating func next() -> ObjectNumber? {
        guard let block = blocks.first else { return nil }
        let rest = block.dropFirst()
        if rest.isEmpty { blocks.removeFirst() } else { blocks[0] = rest }
        return block.lowerBound
    }

    /// The numbers left.
    var remaining: Int { blocks.reduce(0) { $0 + $1.count } }
}
