import TandemIO
import TandemJournal
import TandemModel
import TandemStore
import TandemWire

/// Sessions and committer on one thread: takes what clients sent, commits it in batches, answers.
///
/// A turn is: bytes in (``receive(_:from:)``), saves planned and applied, in rounds over the sessions that have any, one flush for
/// all of them, their pushes and answers, then a slice of what the other sessions wait for: pushes, and reads at the position that is
/// durable. While the thread waits in the flush other clients' saves gather in their sockets: that is the group commit.
///
/// State:
/// - `saving`, `asking`, `reading`, `following`: sessions with saves, with other requests, with something of an answer from a reader, and with
///   anything to be sent, in the order of their turns. A session whose socket is full is in none of them for what it is to be sent: the poller tells when to go on.
/// - `planned`, `refusals`, `savers`: the saves of the batch that is being built, those that it refuses, and the sessions
///   that hear of it first.
/// - `audiences`, `cache`: who follows what, and what that is in bytes.
final class Engine {
    let committer: Committer
    let clock: any Clock
    var limits: DaemonLimits { committer.limits }
    let log: DaemonLog
    /// Who is told how the daemon gets on.
    let supervision: Supervision
    var metrics = EngineMetrics()
    var limitCounts: LimitCounts { committer.limitCounts }
    /// Who may do what.
    var roles: RolePolicy
    private(set) var sessions: [UInt64: Session] = [:]
    private var nextSession: UInt64 = 1
    var saving = Turns(.saves)
    var asking = Turns(.requests)
    var following = Turns(.pushes)
    /// Sessions for which there is something of an answer.
    var reading = Turns(.reads)
    /// Who carries out reads of snapshots.
    var readers: any ReadExecutor = ReadsInTurns()
    /// Reads that wait for a checkpoint and a reader.
    var readQueue = ReadQueue()
    /// Reads that readers have, or whose answers are not encoded to their end.
    var running: [PendingRead] = []
    /// When to retry reads that wait for a checkpoint or for a read transaction; nil if there are none.
    var readsDue: UInt64?
    /// How many objects a read that is answered at once looks at.
    var littleWork = DaemonLimits.littleWork
    /// How many related objects a question for verdicts may look at, if that is not what a request may.
    var verdictReads: Int?
    /// The bytes that reads hold which wait, are carried out, or are being answered.
    var heldBytes = 0
    /// The memory of the reads that run.
    let readMemory = ReadMemory()
    /// What such reads freed.
    var freed = FreedMemory()
    /// Limits the log lines that clients cause.
    var throttles: [LogEvent: LogThrottle] = [:]
    /// When the bytes that are being read may have arrived at the earliest; nil for just now.
    var arrivedAt: UInt64?
    /// The bytes received of incomplete messages.
    var unfinished = UnfinishedMessages()
    var planned: [PlannedSave] = []
    /// Who is to hear after the flush that a save was refused.
    var refusals: [(session: Session, id: UInt32, error: TandemError)] = []
    var savers: [Session] = []
    /// The batch delete or update that is under way, and those that wait for their turn.
    var batches = BatchQueue()
    var audiences = Audiences()
    var cache = PushCache()
    /// What the next one of those to be served very likely gets too.
    var run: PushRun?
    /// Sessions with syncs that wait, by the next position that one of them waits for, and by the next deadline.
    var syncs = WaitingQueue()
    var deadlines = WaitingQueue()
    /// Sessions that have yet to say hello.
    private var greeting: Set<UInt64> = []
    /// Sessions of which the poller watches something else than it should, since ``takeRewatched()`` was last called.
    private var rewatched: [Session] = []
    /// Whether saves are taken as sessions are told, and how often that changed.
    var told = (ability: SaveAbility(), changes: UInt64(0))
    let startedAt: UInt64
    /// When the last flush returned, by the monotonic clock.
    var flushedAt: UInt64 = 0
    /// Flushes that sessions are yet to be served.
    var fanOuts = FanOuts()
    /// The bytes that this turn's flush brought.
    var news = 0
    let storePath: String
    /// The models that sessions declare and the store does not have as such, by hash.
    var declaredModels: [StableHash: Model] = [:]
    /// How much of the journal is kept.
    var retention = Retention()
    /// The settings in effect, each with its source.
    var configuration = JSON.null
    /// Reads the configuration again; nil for a daemon without configuration sources.
    var configurationReload: ConfigurationReload?
    private(set) var maintenance = Maintenance()
    private(set) var housekeeping = Housekeeping()
    private let buffer = GatherBuffer()
    /// The bytes written since the slice began.
    var sliceBytes = 0
    /// When it began, by the monotonic clock.
    var sliceBegan: UInt64 = 0
    /// Whether a question was answered since ``takeHasAnswered()`` was last called.
    private var hasAnswered = false

    init(
        committer: Committer, clock: any Clock, storePath: String, roles: RolePolicy = RolePolicy(),
        log: DaemonLog, supervision: Supervision? = nil
    ) {
        self.committer = committer
        self.clock = clock
        self.log = log
        self.roles = roles
        self.supervision = supervision ?? .none(clock)
        self.storePath = storePath
        startedAt = clock.monotonicNanoseconds
    }

    var position: Position {
        let identity = committer.store.identity
        return Position(log: identity.log, epoch: identity.epoch, number: committer.position)
    }

    // MARK: Connections

    /// Takes a connection in, or says why not and drops it.
    func connect(_ socket: Socket) -> Session? {
        guard let peer = try? socket.peerCredentials() else { return nil }
        let unit = ThisProcess.systemdUnits(ofProcess: peer.pid)?.description ?? ""
        return connect(socket, of: peer, unit: unit)
    }

    /// Takes a connection of a known peer in, or says why not and drops it.
    func connect(
        _ socket: any Connection, of peer: PeerCredentials, unit: String = ""
    ) -> Session? {
        let role = role(of: peer)
        if let (error, refusal) = refusal(of: peer, role) {
            turnAway(socket, peer, unit, error, refusal)
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

    /// The role of a peer as things are.
    func role(of peer: PeerCredentials) -> Role {
        roles.role(of: peer, daemon: ThisProcess.effectiveUserID)
    }

    /// Notes a connection that could not even be taken in.
    func refuse(_ reason: String, _ refusal: Refusal) {
        metrics.note(refusal)
        logThrottled(.connectionRefused, ["reason": refusal.rawValue], reason)
    }

    /// Forgets a session, which is no refusal without a reason.
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
        noteSyncs(session)
        audiences.remove(session)
        session.socket.shutdown()
        metrics.sentBefore += session.written
        guard let reason else { return note(session, .connectionClosed) }
        metrics.note(refusal)
        note(session, .connectionDropped, reason, refusal)
    }

    /// Tells a session why it is closed, and closes it.
    func fail(_ session: Session, _ reason: String, _ refusal: Refusal = .usage) {
        end(session, TandemError(.usage, "the connection is closed: \(reason)"), refusal)
    }

    /// Ends a connection over bytes that break the protocol or its limits.
    func fail(_ session: Session, _ error: WireError) {
        switch error.code {
        case .frameTooLarge:
            end(session, limitCounts.refusal(.frameBytes, limits, "\(error)"), .malformed)
        case .messageTooLarge where session.isReady:
            end(session, limitCounts.refusal(.transactionBytes, limits, "\(error)"), .malformed)
        default: fail(session, "\(error)", .malformed)
        }
    }

    /// Tells a client why its connection ends, and ends it.
    func end(_ session: Session, _ error: TandemError, _ refusal: Refusal = .usage) {
        session.answer(.failure(error), to: 0)
        _ = session.write(through: buffer)
        disconnect(session, because: error.message, refusal)
    }

    /// Whether any connection has yet to say hello, or to send the rest of a message.
    var hasHandshakes: Bool { !greeting.isEmpty || unfinished.bytes > 0 }

    /// Closes connections that did not say hello in time.
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
            let error = limitCounts.refusal(
                .handshakeMilliseconds, limits, "no hello came in time", code: .timeout)
            end(session, error, .handshake)
        }
    }

    // MARK: Writing

    /// Writes what is queued; a connection that is gone is forgotten.
    func finish(_ session: Session) {
        guard !session.isClosing else { return }
        let before = session.outboundBytes
        guard session.write(through: buffer) else { return disconnect(session, because: nil) }
        sliceBytes += before - session.outboundBytes
        if session.isOverfull, !session.wasOverfull { limitCounts.note(.outboundBytes) }
        session.wasOverfull = session.isOverfull
        rewatch(session)
    }

    /// Lets the poller hear of a session of which it watches something else than it should.
    func rewatch(_ session: Session) {
        if session.wants != session.watched { rewatched.append(session) }
    }

    /// The sessions of which the poller is to watch something else since this was last asked.
    func takeRewatched() -> [Session] {
        defer { rewatched.removeAll(keepingCapacity: true) }
        return rewatched
    }

    /// Notes that a question was answered, whose client may have another one soon.
    func noteAnsweredQuestion() { hasAnswered = true }

    /// Whether a question was answered since this was last called.
    func takeHasAnswered() -> Bool {
        defer { hasAnswered = false }
        return hasAnswered
    }

    // MARK: A turn

    /// Carries out what was received, as far as it is this turn's; returns when that is durable and answered.
    ///
    /// Throws what is final for the daemon: a failed journal or store.
    func turn() throws {
        try takeSaves()
        try planBatch()
        try commit()
        try searchBatch()
        tellAbility()
        try takeReads()
        try serveSlice()
        try startReads()
        try expireSyncs()
    }

    /// Whether sessions wait for nothing but the daemon's next turn.
    var hasWork: Bool {
        !saving.isEmpty || !asking.isEmpty || !following.isEmpty || !reading.isEmpty
            || readers.hasWork || hasReadsToStart || batches.hasWork
    }

    /// Whether reads wait for nothing but the daemon's next turn.
    private var hasReadsToStart: Bool {
        readsDue == nil && hasReadToStart
    }

    /// Whether saves wait for the next round.
    var hasSaves: Bool { !saving.isEmpty }

    /// Whether it is time for what follows checkpoints.
    func isHousekeepingDue() -> Bool {
        housekeeping.takeDue(
            checkpoints: committer.counters.checkpoints.count, clock.monotonicNanoseconds)
    }

    /// Looks after the store, if it is time to; done after a checkpoint.
    func maintain() throws {
        let now = clock.monotonicNanoseconds
        for notice in try maintenance.look(at: committer, now: now) {
            log(notice.event, notice.fields, notice.advice)
        }
    }
}
