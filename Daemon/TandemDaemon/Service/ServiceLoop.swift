import TandemIO

/// The daemon's one thread: waits for sockets, feeds the engine, lets it take its turn.
final class ServiceLoop {
    let wakeUp: WakeUp
    let inbox = Inbox()
    private let engine: Engine
    private let poller: any Readiness
    private let listener: UnixListener?
    private var events: [Poller.Event] = []
    private var buffer = [UInt8](repeating: 0, count: 256 << 10)
    private var lastHandshakeCheck: UInt64 = 0
    /// When the last wait ended: what came while the daemon was busy came after that.
    private var waitEnded: UInt64?
    /// How it waits for the next question of who has just been answered; nil for always asleep.
    private var spin: SpinPolicy?
    /// A descriptor to give up when there are no others left.
    private var reserve = try? WakeUp()

    // Tokens of the poller; sessions have theirs above.
    private static let listenerToken: UInt64 = 0
    private static let wakeToken = UInt64.max
    private static let signalToken = UInt64.max - 1

    init(
        _ engine: Engine, listener: UnixListener?, poller: (any Readiness)? = nil,
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
        engine.log(.stopping, ["position": engine.committer.position])
        engine.supervision.stopping()
    }

    /// One round: a checkpoint if it is due, a wait, and what came of it; true when it is time to stop.
    func pass(_ signals: SignalSource? = nil) throws -> Bool {
        var isStopping = false
        try engine.committer.lookAgainIfDue()
        let due = try engine.committer.checkpointIfDue()
        engine.tellAbility()
        if engine.isHousekeepingDue() {
            engine.markProgress()
            engine.retain()
            try engine.maintain()
        } else if engine.isRetentionDue {
            engine.retain()
        }
        let began = engine.clock.monotonicNanoseconds
        try wait(milliseconds: timeout(due))
        let ended = engine.clock.monotonicNanoseconds
        engine.arrivedAt = ended - began < DaemonLimits.promptNanoseconds ? waitEnded : nil
        defer { waitEnded = ended }
        for event in events {
            switch event.token {
            case Self.listenerToken: accept()
            case Self.wakeToken: isStopping = takeInbox() || isStopping
            case Self.signalToken: isStopping = shouldStop(signals) || isStopping
            default: handle(event)
            }
        }
        engine.arrivedAt = nil
        try gather()
        try engine.turn()
        try watchAnew()
        checkHandshakes()
        engine.reportWithheldLines()
        if engine.takeFreedDue() { ThisProcess.releaseMemory() }
        engine.supervision.passed(engine.summary)
        return isStopping
    }

    /// Waits until something happens or the time is up; where a question was answered just now, awake at first.
    ///
    /// Whatever happens ends it, not only another question, so nobody waits for it.
    private func wait(milliseconds: Int32) throws {
        let hasAnswered = engine.takeHasAnswered()
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

    /// Takes the saves that arrived while others were planned, so that one flush serves them too.
    ///
    /// It waits for nobody. Everything else that happened stays for the next round, which finds it again.
    private func gather() throws {
        for _ in 0..<DaemonLimits.gatherRounds {
            try engine.takeSaves()
            guard engine.committer.hasPending, !engine.committer.isBatchFull else { return }
            let isQuiet = engine.sessions.count == 1 ? true : try readMore()
            if isQuiet, !engine.hasSaves { return }
        }
    }

    /// Reads what came meanwhile; true when that is nothing.
    private func readMore() throws -> Bool {
        try poller.wait(timeoutMilliseconds: 0, into: &events)
        var isQuiet = true
        for event in events where event.isReadable {
            // What is queued for a session may speak of saves that are not durable yet: it must not go out.
            guard let session = engine.sessions[event.token], session.outboundBytes == 0,
                session.waitingSaves == 0, !session.awaitsRefusal
            else { continue }
            read(session)
            isQuiet = false
        }
        return isQuiet
    }

    private func shouldStop(_ signals: SignalSource?) -> Bool {
        while let signal = signals?.next() {
            if signal != .hangUp { return true }
            engine.reloadBySignal()
        }
        return false
    }

    /// Sleeps until something happens, a checkpoint or a waiting sync is due, handshakes are to be looked at, or what is short.
    private func timeout(_ checkpoint: Int32?) -> Int32 {
        if engine.hasWork { return 0 }
        var milliseconds: Int32 = engine.hasHandshakes ? 1_000 : -1
        func earlier(_ other: Int32) {
            milliseconds = milliseconds < 0 ? other : min(milliseconds, other)
        }
        if let checkpoint { earlier(checkpoint) }
        let deadlines = [
            engine.nextDeadline, engine.committer.ability.nextLook, engine.supervision.nextWake,
            engine.retention.nextLook, engine.freed.due, engine.nextLogReport,
            engine.nextReadDeadline, engine.housekeeping.due,
        ]
        for deadline in deadlines {
            guard let deadline else { continue }
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
        engine.expireUnfinished()
    }

    // MARK: Sockets

    /// Takes some of those who wait; the next wait tells of the others, so that a stream of them holds nobody up.
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

    /// Without descriptors a connection can't even be refused: the reserve makes room to take it and drop it.
    private func dropWaiting(because error: IOError) {
        engine.refuse("\(error)", .descriptors)
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

    /// Follows what a session's client sends.
    func watch(_ session: Session) {
        do {
            try poller.add(session.socket.descriptor, token: session.id, interest: .read)
        } catch {
            engine.disconnect(session, because: "\(error)", .descriptors)
        }
    }

    private func takeInbox() -> Bool {
        wakeUp.clear()
        let (isStopping, sockets) = inbox.state.withLock { state in
            defer { state.sockets = [] }
            return (state.isStopping, state.sockets)
        }
        for socket in sockets { add(socket) }
        return isStopping
    }

    private func handle(_ event: Poller.Event) {
        guard let session = engine.sessions[event.token] else { return }
        // While saves of it wait, what it sends stays in the socket.
        if event.isReadable || event.isClosed, session.waitingSaves == 0 { read(session) }
        // Of one that has left while its saves wait for room only writing tells.
        guard event.isWritable || (event.isClosed && session.isOverfull) else { return }
        if !session.isClosing { engine.resume(session) }
    }

    /// Reads once; what is left makes the next wait return at once, so that no client keeps others waiting.
    private func read(_ session: Session) {
        let result = buffer.withUnsafeMutableBytes { bytes in
            Result { try session.socket.read(into: bytes) }
        }
        switch result {
        case .success(.bytes(let count)):
            buffer.withUnsafeBytes {
                engine.receive(UnsafeRawBufferPointer(rebasing: $0[..<count]), from: session)
            }
        case .success(.wouldBlock): break
        case .success(.closed):
            let isWhole = session.decoder.isAtBoundary
            engine.disconnect(
                session, because: isWhole ? nil : "it ended in the middle of a frame",
                .malformed)
        case .failure: engine.disconnect(session, because: nil)
        }
    }

    /// Asks to be told when sockets that are full take bytes again, and not of bytes that nothing can be done with yet.
    private func watchAnew() throws {
        for session in engine.takeRewatched() where !session.isClosing {
            guard session.wants != session.watched else { continue }
            session.watched = session.wants
            try poller.modify(
                session.socket.descriptor, token: session.id, interest: session.watched)
        }
    }
}
