import TandemIO
import TandemJournal
import TandemModel
import TandemStore
import TandemWire

/// The engine of the daemon's thread: receives requests, commits saves in batches, and answers.
///
/// A turn consists of these steps:
/// 1. Received bytes are decoded (``receive(_:from:at:)``).
/// 2. Saves are planned and applied, in rounds over the sessions that have any.
/// 3. One flush makes them all durable; their sessions get pushes and answers.
/// 4. The other sessions get a slice of what they wait for: pushes, and reads at the durable
///    position.
///
/// While the thread waits in the flush, saves of other clients collect in their sockets. This is
/// the group commit.
///
/// The engine defines the order of these steps; its parts own all state. The parts are layered:
/// each refers only to the committer and to parts above it in the list of properties. None of them
/// refers to the engine. If the work of a part concerns other parts, the part returns a value that
/// the engine passes on: an ``Ending``, answered sessions, or a ``SearchOutcome``.
final class Engine {
    let committer: Committer
    let environment: EngineEnvironment
    let reporter: ClientReporter
    let configuration: ReloadableConfiguration
    let admission: Admission
    let journalMaintenance: JournalMaintenance
    let queues: SessionQueues
    let syncs: SyncQueue
    let pushes: PushDispatcher
    let reads: ReadDispatcher
    let intake: RequestIntake
    let saves: SaveBatch
    let batches: BatchDispatcher
    let models: ModelInstaller
    let writer: SliceWriter

    init(
        committer: Committer, clock: any Clock, storePath: String, roles: RolePolicy = RolePolicy(),
        log: DaemonLog, notifier: ServiceNotifier? = nil
    ) {
        self.committer = committer
        environment = EngineEnvironment(
            clock: clock, log: log, notifier: notifier, storePath: storePath)
        reporter = ClientReporter(log: log, clock: clock)
        configuration = ReloadableConfiguration(log: log)
        admission = Admission(committer, roles: roles, clock: clock, reporter: reporter)
        journalMaintenance = JournalMaintenance(
            committer, clock: clock, log: log, admission: admission)
        queues = SessionQueues()
        syncs = SyncQueue()
        pushes = PushDispatcher(committer)
        reads = ReadDispatcher(
            committer, clock: clock, reporter: reporter, admission: admission,
            journalMaintenance: journalMaintenance,
            pushes: pushes, queues: queues)
        intake = RequestIntake(
            committer, clock: clock, admission: admission, reads: reads, syncs: syncs,
            reporter: reporter)
        saves = SaveBatch(committer, admission: admission, reporter: reporter)
        batches = BatchDispatcher(
            committer, clock: clock, admission: admission, reporter: reporter)
        models = ModelInstaller(
            committer, admission: admission, notifier: environment.notifier)
        writer = SliceWriter()
    }

    var clock: any Clock { environment.clock }
    var limits: DaemonLimits { committer.limits }
    var limitCounters: LimitCounters { committer.limitCounters }
    var position: Position { committer.logPosition }

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
        admission.admit(socket, of: peer, unit: unit)
    }

    /// Removes a session from all parts; without a reason, this counts as a regular close.
    func disconnect(
        _ session: Session, because reason: String?, _ refusal: Refusal = .usage
    ) {
        if remove(session) { reporter.disconnected(session, because: reason, refusal) }
    }

    /// Removes a session and everything that waits for it; returns false if it was removed before.
    private func remove(_ session: Session) -> Bool {
        guard admission.remove(session) else { return false }
        reads.drop(session)
        if let search = batches.search(of: session) { reads.forget(search) }
        if !session.pins.isEmpty { journalMaintenance.scheduleRetention() }
        syncs.removeAll(of: session)
        pushes.remove(session)
        session.socket.shutdown()
        assert(
            session.read == nil && session.group == nil,
            "A session that has ended waits for no read and no push.")
        return true
    }

    /// Ends all reads and closes all connections, when the daemon ends.
    ///
    /// The process may live on with an embedded daemon, and its clients have to notice the end.
    func disconnectAll() {
        reads.close()
        for session in admission.ordered { _ = remove(session) }
    }

    /// Sends a client the error that ends its connection, and closes it.
    func end(_ session: Session, _ ending: Ending) {
        session.answer(.failure(ending.error), to: 0)
        writer.writeLast(session)
        disconnect(session, because: ending.error.message, ending.refusal)
    }

    /// Closes connections whose hello, or the rest of a message, did not arrive in time.
    func expireHandshakes() {
        for (session, ending) in admission.lateHandshakes() { end(session, ending) }
        for (session, ending) in admission.lateMessages() { end(session, ending) }
    }

    /// Reloads the configuration, and applies the new roles and limits, also to connected clients.
    ///
    /// Throws `usage` for an invalid configuration; the error is logged.
    @discardableResult
    func reload() throws(TandemError) -> ConfigurationReload.Outcome {
        let (current, outcome) = try configuration.reload()
        committer.setLimits(current.limits)
        for session in admission.adopt(current.roles) {
            let error = TandemError(.denied, "uid \(session.peer.uid) no longer has a role")
            end(session, Ending(error, .role))
        }
        configuration.logReload(outcome)
        return outcome
    }

    // MARK: Output

    /// Writes queued bytes; removes the session if its connection is closed.
    func finish(_ session: Session) {
        guard !session.isClosing else { return }
        guard writer.write(session, limitCounters) else {
            return disconnect(session, because: nil)
        }
        queues.updateInterest(session)
    }

    /// Queues a session for its next piece of work.
    func schedule(_ session: Session) {
        guard !session.isClosing else { return }
        if session.hasInsertChunks { batches.add(chunksOf: session) }
        queues.add(session)
    }

    /// Queues a session whose socket accepts bytes again.
    func resume(_ session: Session) { queues.queueOutput(of: session) }

    /// Queues progress marks for subscribers that have received none of the latest transactions.
    ///
    /// The marks keep the positions that clients display, and from which they resume, close to the
    /// tail. Called after a checkpoint, at most ten times a second.
    func markProgress() {
        for session in admission.sessions.values
        where session.isReady && !session.interests.isEmpty {
            guard session.machine.cursor < session.sent else { continue }
            session.requestProgressMark()
            if !session.isWaitingToWrite { queues.queueOutput(of: session) }
        }
    }

    /// Announces the read-only state to all sessions if it has changed since the last call.
    func announceReadOnlyState() {
        guard queues.announce(committer.readOnlyState) else { return }
        environment.notifier.report(summary)
        for session in admission.sessions.values where session.isReady && !session.isWaitingToWrite
        {
            queues.queueOutput(of: session)
        }
    }

    // MARK: A turn

    /// Runs one turn; returns when its saves are durable and answered.
    ///
    /// Throws only errors that are fatal to the daemon: a failed journal or store.
    func turn() throws {
        try planSaves()
        try batches.plan(isAlone: saves.isEmpty && !queues.hasSaves)
        try commit()
        if let search = try batches.beginSearch() { reads.add(search) }
        announceReadOnlyState()
        reads.handleProgress()
        completeReads()
        try serveSlice()
        try reads.start()
        completeReads()
        expireSyncs()
    }

    /// Whether the next turn has work, so that the loop must not sleep.
    var hasWork: Bool { queues.hasWork || reads.hasWork || batches.hasWork }

    /// The earliest time at which a part has work, in nanoseconds of the monotonic clock; nil if no
    /// part waits for a time.
    var nextDeadline: UInt64? {
        let deadlines = [
            syncs.nextDeadline, committer.readOnlyState.nextRetry, environment.notifier.nextWake,
            journalMaintenance.retention.nextRetry, reads.bytes.trim.due, reporter.nextReport,
            reads.nextDeadline,
            journalMaintenance.housekeepingDue,
        ]
        return deadlines.lazy.compactMap(\.self).min()
    }

    /// Runs the work that is due after checkpoints, and retention.
    func runMaintenance() throws {
        if journalMaintenance.isHousekeepingDue() {
            markProgress()
            journalMaintenance.retain()
            try journalMaintenance.maintain()
        } else if journalMaintenance.isRetentionDue {
            journalMaintenance.retain()
        }
    }

    // MARK: Reports

    /// Reports that the daemon is ready.
    func begin() {
        let counters = committer.counters
        environment.log(
            .ready,
            [
                "store": environment.storePath, "position": committer.position,
                "replayed": counters.replayedChanges,
                "replay_us": counters.replayNanoseconds / 1_000,
            ])
        environment.notifier.ready(summary)
    }

    /// Makes a final checkpoint, and closes journal and store.
    func end() throws {
        let start = clock.monotonicNanoseconds
        let position = committer.position
        try committer.close()
        let microseconds = (clock.monotonicNanoseconds - start) / 1_000
        environment.log(.stopped, ["position": position, "duration_us": microseconds])
    }

    /// The state of the daemon in one line, for `systemctl status`.
    var summary: String {
        let readOnlyState = committer.readOnlyState
        let state = readOnlyState.isReadOnly ? "read-only (\(readOnlyState.reason))" : "serving"
        return "\(state): position \(committer.position), \(admission.sessions.count) clients"
    }

    /// The data of `tandem status` and `tandem clients`.
    var status: JSON {
        StatusReport(
            committer: committer, environment: environment, metrics: reporter.metrics,
            admission: admission, reads: reads, journalMaintenance: journalMaintenance,
            configuration: configuration.report,
            flushedAt: pushes.flushedAt
        ).json
    }
}
