import TandemIO

/// The loop of the daemon's thread: waits for sockets, passes bytes to the engine, runs its turns.
final class ServiceLoop {
    let wakeUp: WakeUp
    let mailbox = DaemonMailbox()
    private let engine: Engine
    private let poller: any EventPoller
    private var listener: UnixListener?
    private var events: [Poller.Event] = []
    private var buffer = [UInt8](repeating: 0, count: 256 << 10)
    private var lastHandshakeCheck: UInt64 = 0
    /// The end of the last wait; bytes that arrive while the daemon is busy arrive after this time.
    private var waitEnded: UInt64?
    /// The earliest possible arrival time of the bytes being received; nil for the current time.
    private var arrivedAt: UInt64?
    /// The policy for busy-waiting after an answer; nil if the loop never busy-waits.
    private var spin: SpinPolicy?
    /// A reserve descriptor, which is closed when the process has no free one left.
    private var reserve = try? WakeUp()

    // Tokens of the poller; the token of a session is its id, which differs from all of these.
    private static let listenerToken: UInt64 = 0
    private static let wakeToken = UInt64.max
    private static let signalToken = UInt64.max - 1

    init(
        _ engine: Engine, listener: UnixListener?, poller: (any EventPoller)? = nil,
        spin: SpinPolicy? = nil
    ) throws(IOError) {
        self.engine = engine
        self.spin = spin
        self.listener = listener
        if let poller { self.poller = poller } else { self.poller = try Poller() }
        wakeUp = try WakeUp()
        try self.poller.add(wakeUp.descriptor, token: Self.wakeToken, interest: .read)
        if let listener {
            try self.poller.add(listener.descriptor, token: Self.listenerToken, interest: .read)
        }
    }

    func run(signals: SignalSource?) throws {
        if let signals {
            try poller.add(signals.descriptor, token: Self.signalToken, interest: .read)
        }
        while try !pass(signals) {}
        engine.environment.log(.stopping, ["position": engine.committer.position])
        engine.environment.notifier.stopping()
    }

    /// Stops listening, and refuses sockets that other threads still leave in the mailbox.
    func close() {
        listener = nil
        mailbox.close()
    }

    /// Runs one round: a checkpoint if it is due, a wait, and a turn of the engine; returns true if
    /// the daemon must stop.
    func pass(_ signals: SignalSource? = nil) throws -> Bool {
        var isStopping = false
        try engine.committer.retryIfDue()
        let due = try engine.committer.checkpointIfDue()
        engine.announceReadOnlyState()
        try engine.runMaintenance()
        let began = engine.clock.monotonicNanoseconds
        try wait(milliseconds: timeout(due))
        let ended = engine.clock.monotonicNanoseconds
        arrivedAt = ended - began < DaemonLimits.briefWaitNanoseconds ? waitEnded : nil
        defer { waitEnded = ended }
        for event in events {
            switch event.token {
            case Self.listenerToken: accept()
            case Self.wakeToken: isStopping = drainMailbox() || isStopping
            case Self.signalToken: isStopping = shouldStop(signals) || isStopping
            default: handle(event)
            }
        }
        arrivedAt = nil
        try gather()
        try engine.turn()
        try updateInterests()
        checkHandshakes()
        engine.reporter.reportWithheldLines()
        if engine.reads.consumeFreedDue() { ThisProcess.releaseMemory() }
        engine.environment.notifier.passed(engine.summary)
        return isStopping
    }

    /// Waits for events or the timeout; busy-waits first if a read request was just answered.
    ///
    /// Any event ends the busy-wait, not only another request, so no client is delayed.
    private func wait(milliseconds: Int32) throws {
        let hasAnswered = engine.reporter.consumeHasAnswered()
        guard milliseconds != 0, hasAnswered, let budget = spin?.budget else {
            return try poller.wait(timeoutMilliseconds: milliseconds, into: &events)
        }
        let begin = engine.clock.monotonicNanoseconds
        var waited: UInt64 = 0
        events.removeAll(keepingCapacity: true)
        while events.isEmpty, waited < budget {
            try poller.wait(timeoutMilliseconds: 0, into: &events)
            waited = engine.clock.monotonicNanoseconds - begin
        }
        if events.isEmpty {
            try poller.wait(timeoutMilliseconds: milliseconds, into: &events)
            waited = engine.clock.monotonicNanoseconds - begin
        }
        spin?.waited(nanoseconds: waited)
    }

    /// Plans the saves that arrived while others were planned, so that one flush serves them as
    /// well.
    ///
    /// Never blocks. All other events stay pending for the next round.
    private func gather() throws {
        for _ in 0..<DaemonLimits.pollsBeforeFlush {
            try engine.planSaves()
            guard engine.committer.hasPending, !engine.committer.isBatchFull else { return }
            let isQuiet = engine.admission.sessions.count == 1 ? true : try readMore()
            if isQuiet, !engine.queues.hasSaves { return }
        }
    }

    /// Reads new bytes without waiting; returns true if there were none.
    private func readMore() throws -> Bool {
        try poller.wait(timeoutMilliseconds: 0, into: &events)
        var isQuiet = true
        for event in events where event.isReadable {
            // Queued output may refer to saves that are not durable yet, so it must not be sent
            // now.
            guard let session = engine.admission.sessions[event.token], session.outboundBytes == 0,
                session.waitingSaves == 0, !session.input.awaitsRefusal
            else { continue }
            read(session)
            isQuiet = false
        }
        return isQuiet
    }

    private func shouldStop(_ signals: SignalSource?) -> Bool {
        while let signal = signals?.next() {
            if signal != .hangUp { return true }
            // The error has already been logged.
            _ = try? engine.reload()
        }
        return false
    }

    /// Returns the timeout of the next wait in milliseconds: 0 if there is work to do, -1 for no
    /// limit.
    ///
    /// The wait ends when a checkpoint, a sync's deadline, a handshake check, a retry after a
    /// shortage or other scheduled work is due.
    private func timeout(_ checkpoint: Int32?) -> Int32 {
        if engine.hasWork { return 0 }
        var milliseconds: Int32 = engine.admission.hasHandshakes ? 1_000 : -1
        func earlier(_ other: Int32) {
            milliseconds = milliseconds < 0 ? other : min(milliseconds, other)
        }
        if let checkpoint { earlier(checkpoint) }
        if let deadline = engine.nextDeadline {
            let now = engine.clock.monotonicNanoseconds
            let wait = deadline > now ? (deadline - now) / 1_000_000 + 1 : 0
            earlier(Int32(min(wait, 3_600_000)))
        }
        return milliseconds
    }

    private func checkHandshakes() {
        let now = engine.clock.monotonicNanoseconds
        guard now > lastHandshakeCheck + 1_000_000_000 else { return }
        lastHandshakeCheck = now
        engine.expireHandshakes()
    }

    // MARK: Sockets

    /// Accepts a bounded number of connections.
    ///
    /// The next wait reports the others, so a flood of connections does not delay the clients.
    private func accept() {
        for _ in 0..<DaemonLimits.acceptsInTurn {
            do {
                guard let socket = try listener?.accept() else { return }
                add(socket)
            } catch {
                return dropWaiting(because: error)
            }
        }
    }

    /// Rejects the next connection when no descriptor is free: closing the reserve descriptor
    /// frees one to accept the connection, which is then closed.
    private func dropWaiting(because error: IOError) {
        engine.reporter.refused(.descriptors, "\(error)")
        reserve = nil
        _ = try? listener?.accept()
        reserve = try? WakeUp()
    }

    private func add(_ socket: Socket) {
        guard (try? socket.setNonBlocking()) != nil, let session = engine.connect(socket) else {
            return
        }
        watch(session)
    }

    /// Watches a session's socket for input.
    func watch(_ session: Session) {
        do {
            try poller.add(session.socket.descriptor, token: session.id, interest: .read)
        } catch {
            engine.disconnect(session, because: "\(error)", .descriptors)
        }
    }

    private func drainMailbox() -> Bool {
        wakeUp.clear()
        let (isStopping, sockets) = mailbox.drain()
        for socket in sockets { add(socket) }
        return isStopping
    }

    private func handle(_ event: Poller.Event) {
        guard let session = engine.admission.sessions[event.token] else { return }
        // While the session has queued saves, its further bytes stay in the socket.
        if event.isReadable || event.isClosed, session.waitingSaves == 0 { read(session) }
        // If a client disconnects while its saves wait for room, only a write detects that.
        guard event.isWritable || (event.isClosed && session.isOverfull) else { return }
        if !session.isClosing { engine.resume(session) }
    }

    /// Reads once; remaining bytes end the next wait immediately, so that no client delays the
    /// others.
    private func read(_ session: Session) {
        let result = buffer.withUnsafeMutableBytes { bytes in
            Result { try session.socket.read(into: bytes) }
        }
        switch result {
        case .success(.bytes(let count)):
            buffer.withUnsafeBytes {
                engine.receive(
                    UnsafeRawBufferPointer(rebasing: $0[..<count]), from: session, at: arrivedAt)
            }
        case .success(.wouldBlock): break
        case .success(.closed):
            let isWhole = session.input.isAtBoundary
            engine.disconnect(
                session, because: isWhole ? nil : "the connection ended in the middle of a frame",
                .malformed)
        case .failure: engine.disconnect(session, because: nil)
        }
    }

    /// Updates the events for which the poller watches sessions.
    ///
    /// Full sockets are watched for writing. Sockets whose bytes can't be processed yet are not
    /// watched for reading.
    private func updateInterests() throws {
        for session in engine.queues.drainRewatched() where !session.isClosing {
            guard let interest = session.updateWatched() else { continue }
            try poller.modify(session.socket.descriptor, token: session.id, interest: interest)
        }
    }
}
