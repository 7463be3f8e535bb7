import TandemIO
import TandemJournal
import TandemModel
import TandemStore
import TandemWire

/// Sessions and committer on one thread: receives requests, commits saves in batches, answers.
///
/// A turn consists of these steps:
/// 1. Received bytes are decoded (``receive(_:from:)``).
/// 2. Saves are planned and applied, in rounds over the sessions that have any.
/// 3. One flush makes them all durable; their sessions get pushes and answers.
/// 4. The other sessions get a slice of what they wait for: pushes, and reads at the durable
///    position.
///
/// While the thread waits in the flush, saves of other clients collect in their sockets. This is
/// the group commit.
///
/// State:
/// - `saving`, `asking`, `reading`, `following`: queues of the sessions with saves, with other
///   requests, with chunks of an answer from a reader, and with any output. A session whose socket
///   is full is in none of the queues for output; it resumes when the poller reports its socket as
///   writable.
/// - `planned`, `refusals`, `savers`: the saves of the batch being built, the rejected saves, and
///   the sessions of both, which are answered first.
/// - `subscribers`, `cache`: the sessions by interests, and the encoded pushes for them.
final class Engine {
    let committer: Committer
    let clock: any Clock
    var limits: DaemonLimits { committer.limits }
    let log: DaemonLog
    /// The notifier that sends the daemon's state to the service manager.
    let notifier: ServiceNotifier
    var metrics = EngineMetrics()
    var limitCounters: LimitCounters { committer.limitCounters }
    /// The rules that assign roles to users.
    var roles: RolePolicy
    private(set) var sessions: [UInt64: Session] = [:]
    private var nextSession: UInt64 = 1
    var saving = SessionQueue(.saves)
    var asking = SessionQueue(.requests)
    var following = SessionQueue(.pushes)
    /// Sessions with chunks of an answer to send.
    var reading = SessionQueue(.reads)
    /// The executor of reads of snapshots.
    var readers: any ReadExecutor = ReadsInTurns()
    /// Reads that wait for a checkpoint and a reader.
    var readQueue = ReadQueue()
    /// Reads that readers are carrying out, or whose answers are not completely encoded yet.
    var running: [PendingRead] = []
    /// The time to retry reads that wait for a checkpoint or for a read transaction; nil if there
    /// are none.
    var readsDue: UInt64?
    /// The maximum number of objects that a read may examine if it is answered immediately, without
    /// a reader.
    var littleWork = DaemonLimits.littleWork
    /// The maximum number of related objects that a verdict request may examine; nil for the limit
    /// of any request.
    var verdictReads: Int?
    /// The bytes held by waiting and running reads and by answers being sent.
    var heldBytes = 0
    /// The memory of the running reads.
    let readMemory = ReadMemory()
    /// The heap-trim schedule for memory freed by reads.
    var heapTrim = HeapTrimSchedule()
    /// The throttles of log lines that clients cause.
    var throttles: [LogEvent: LogThrottle] = [:]
    /// The earliest possible arrival time of the bytes being received; nil for the current time.
    var arrivedAt: UInt64?
    /// The received bytes of incomplete messages.
    var unfinished = UnfinishedMessages()
    var planned: [PlannedSave] = []
    /// The rejected saves, which are answered after the flush.
    var refusals: [(session: Session, id: UInt32, error: TandemError)] = []
    var savers: [Session] = []
    /// The running batch and the waiting ones.
    var batches = BatchQueue()
    var subscribers = SubscriberRegistry()
    var cache = PushBodyCache()
    /// The last shared push batch, which very likely also suits the next session.
    var run: SharedPushBatch?
    /// Sessions with waiting syncs: `syncs` by the next position awaited, `deadlines` by deadline.
    var syncs = IndexedHeap()
    var deadlines = IndexedHeap()
    /// Sessions whose hello has not arrived.
    private var greeting: Set<UInt64> = []
    /// Sessions whose poller interest may have changed since the last ``drainRewatched()``.
    private var rewatched: [Session] = []
    /// The read-only state as announced to sessions, and the number of its changes.
    var told = (readOnlyState: ReadOnlyState(), changes: UInt64(0))
    let startedAt: UInt64
    /// The time when the last flush returned, in nanoseconds of the monotonic clock.
    var flushedAt: UInt64 = 0
    /// Flushes whose pushes have not reached all subscribers.
    var fanOuts = FanOutTracker()
    /// The bytes of the transactions of this turn's flush.
    var news = 0
    let storePath: String
    /// Models that sessions declare and that differ from the store's model, by hash.
    var declaredModels: [StableHash: Model] = [:]
    /// The retention policy and its counters.
    var retention = Retention()
    /// The settings in effect, each with its source.
    var configuration = JSON.null
    /// The means to reload the configuration; nil for a daemon without configuration sources.
    var configurationReload: ConfigurationReload?
    private(set) var maintenance = Maintenance()
    private(set) var housekeeping = Housekeeping()
    private let buffer = CoalescingBuffer()
    /// The bytes written since the current slice began.
    var sliceBytes = 0
    /// The start of the current slice, in nanoseconds of the monotonic clock.
    var sliceBegan: UInt64 = 0
    /// Whether a read request was answered since the last ``consumeHasAnswered()``.
    private var hasAnswered = false

    init(
        committer: Committer, clock: any Clock, storePath: String, roles: RolePolicy = RolePolicy(),
        log: DaemonLog, notifier: ServiceNotifier? = nil
    ) {
        self.committer = committer
        self.clock = clock
        self.log = log
        self.roles = roles
        self.notifier = notifier ?? .none(clock)
        self.storePath = storePath
        startedAt = clock.monotonicNanoseconds
    }

    var position: Position {
        let identity = committer.store.identity
        return Position(log: identity.log, epoch: identity.epoch, number: committer.position)
    }

    // MARK: Connections

    /// Accepts a connection, or rejects it with a reason and returns nil.
    func connect(_ socket: Socket) -> Session? {
        guard let peer = try? socket.peerCredentials() else { return nil }
        let unit = ThisProcess.systemdUnits(ofProcess: peer.pid)?.description ?? ""
        return connect(socket, of: peer, unit: unit)
    }

    /// Accepts a connection of a known peer, or rejects it with a reason and returns nil.
    func connect(
        _ socket: any ClientChannel, of peer: PeerCredentials, unit: String = ""
    ) -> Session? {
        let role = role(of: peer)
        if let (error, refusal) = refusal(of: peer, role) {
            reject(socket, peer, unit, error, refusal)
            return nil
        }
        let session = Session(
            id: nextSession, socket: socket, peer: peer, unit: unit,
            now: clock.monotonicNanoseconds, committer: committer, role: role)
        nextSession += 1
        sessions[session.id] = session
        greeting.insert(session.id)
        metrics.opened += 1
        return session
    }

    /// Returns the role of a peer by the current rules.
    func role(of peer: PeerCredentials) -> Role {
        roles.role(of: peer, daemon: ThisProcess.effectiveUserID)
    }

    /// Counts and logs a connection that failed before a session could be made for it.
    func refuse(_ reason: String, _ refusal: Refusal) {
        metrics.record(refusal)
        logThrottled(.connectionRefused, ["reason": refusal.rawValue], reason)
    }

    /// Removes a session; without a reason, this counts as a regular close.
    func disconnect(
        _ session: Session, because reason: String?, _ refusal: Refusal = .usage
    ) {
        guard sessions.removeValue(forKey: session.id) != nil else { return }
        session.isClosing = true
        forgetUnfinished(session)
        session.syncs.removeAll()
        drop(session)
        dropSearch(of: session)
        if !session.pins.isEmpty { letGo() }
        updateSyncs(session)
        subscribers.remove(session)
        session.socket.shutdown()
        metrics.sentBefore += session.written
        guard let reason else { return logEvent(session, .connectionClosed) }
        metrics.record(refusal)
        logEvent(session, .connectionDropped, reason, refusal)
    }

    /// Sends a session the reason for its end, and closes it.
    func fail(_ session: Session, _ reason: String, _ refusal: Refusal = .usage) {
        end(session, TandemError(.usage, "the connection is closed: \(reason)"), refusal)
    }

    /// Ends a connection whose bytes violate the protocol or its limits.
    func fail(_ session: Session, _ error: WireError) {
        switch error.code {
        case .frameTooLarge:
            end(session, limitCounters.refusal(.frameBytes, limits, "\(error)"), .malformed)
        case .messageTooLarge where session.isReady:
            end(session, limitCounters.refusal(.transactionBytes, limits, "\(error)"), .malformed)
        default: fail(session, "\(error)", .malformed)
        }
    }

    /// Sends a client the error that ends its connection, and closes it.
    func end(_ session: Session, _ error: TandemError, _ refusal: Refusal = .usage) {
        session.answer(.failure(error), to: 0)
        _ = session.write(through: buffer)
        disconnect(session, because: error.message, refusal)
    }

    /// Whether any connection still has to send its hello or the rest of a message.
    var hasHandshakes: Bool { !greeting.isEmpty || unfinished.bytes > 0 }

    /// Closes connections whose hello did not arrive in time.
    func expireHandshakes() {
        let limit = UInt64(limits.handshakeMilliseconds) * 1_000_000
        let now = clock.monotonicNanoseconds
        for id in greeting {
            guard let session = sessions[id], !session.isReady else {
                greeting.remove(id)
                continue
            }
            guard now > session.connectedAt + limit, session.machine.helloTimedOut() == .close
            else { continue }
            let error = limitCounters.refusal(
                .handshakeMilliseconds, limits, "no hello arrived in time", code: .timeout)
            end(session, error, .handshake)
        }
    }

    // MARK: Writing

    /// Writes queued bytes; removes the session if its connection is closed.
    func finish(_ session: Session) {
        guard !session.isClosing else { return }
        let before = session.outboundBytes
        guard session.write(through: buffer) else { return disconnect(session, because: nil) }
        sliceBytes += before - session.outboundBytes
        if session.isOverfull, !session.wasOverfull { limitCounters.record(.outboundBytes) }
        session.wasOverfull = session.isOverfull
        updateInterest(session)
    }

    /// Schedules a session for ``drainRewatched()`` if the poller watches for the wrong events.
    func updateInterest(_ session: Session) {
        if session.wants != session.watched { rewatched.append(session) }
    }

    /// Returns the sessions whose poller interest may have changed since the last call.
    func drainRewatched() -> [Session] {
        defer { rewatched.removeAll(keepingCapacity: true) }
        return rewatched
    }

    /// Records that a read request was answered, whose client may send another one soon.
    func markQuestionAnswered() { hasAnswered = true }

    /// Returns whether a read request was answered since the last call.
    func consumeHasAnswered() -> Bool {
        defer { hasAnswered = false }
        return hasAnswered
    }

    // MARK: A turn

    /// Runs one turn; returns when its saves are durable and answered.
    ///
    /// Throws only errors that are fatal to the daemon: a failed journal or store.
    func turn() throws {
        try planSaves()
        try planBatch()
        try commit()
        try searchBatch()
        announceReadOnlyState()
        try handleReadProgress()
        try serveSlice()
        try startReads()
        try expireSyncs()
    }

    /// Whether any session needs nothing but the daemon's next turn to proceed.
    var hasWork: Bool {
        !saving.isEmpty || !asking.isEmpty || !following.isEmpty || !reading.isEmpty
            || readers.hasWork || hasReadsToStart || batches.hasWork
    }

    /// Whether any read needs nothing but the daemon's next turn to start.
    private var hasReadsToStart: Bool {
        readsDue == nil && hasReadToStart
    }

    /// Whether saves wait for the next round.
    var hasSaves: Bool { !saving.isEmpty }

    /// Whether the work that follows checkpoints is due.
    func isHousekeepingDue() -> Bool {
        housekeeping.consumeDue(
            checkpoints: committer.counters.checkpoints.count, clock.monotonicNanoseconds)
    }

    /// Runs the maintenance of the store if it is due; called after a checkpoint.
    func maintain() throws {
        let now = clock.monotonicNanoseconds
        for notice in try maintenance.check(committer, now: now) {
            log(notice.event, notice.fields, notice.advice)
        }
    }
}
