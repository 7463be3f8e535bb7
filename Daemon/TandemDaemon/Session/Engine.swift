import TandemIO
import TandemJournal
import TandemModel
import TandemQuery
import TandemStore
import TandemWire

/// Sessions and committer on one thread: takes what clients sent, commits it in batches, answers.
///
/// A turn is: bytes in (``receive(_:from:)``), saves planned and applied in the order of arrival, one flush for
/// all of them, pushes, answers to the saves, then the reads, at the position that is durable. While the thread waits in the flush
/// other clients' saves gather in their sockets: that is the group commit.
final class Engine {
    let committer: Committer
    let clock: any Clock
    var limits: DaemonLimits { committer.limits }
    let log: @Sendable (LogLevel, String) -> Void
    private(set) var sessions: [UInt64: Session] = [:]
    private var nextSession: UInt64 = 1
    private var ready: [UInt64] = []
    private var planned: [(session: Session, id: UInt32, saved: Saved)] = []
    private(set) var refused: UInt64 = 0
    /// Sessions with a sync that waits; kept apart so that a turn does not walk all sessions.
    private var waiting: Set<UInt64> = []
    /// Sessions behind the end whose sockets take more.
    private var lagging: Set<UInt64> = []
    /// Sessions that have yet to say hello.
    private var greeting: Set<UInt64> = []
    /// Sessions whose socket took less than was there since ``takeBlocked()`` was last called.
    private var blocked: [UInt64] = []
    /// Whether saves are taken as sessions are told, and how often that changed.
    private var told = (ability: SaveAbility(), changes: UInt64(0))
    let startedAt: UInt64
    let storePath: String
    /// How much of the journal is kept.
    var retention = Retention()
    private(set) var maintenance = Maintenance()

    init(
        committer: Committer, clock: any Clock, storePath: String,
        log: @escaping @Sendable (LogLevel, String) -> Void
    ) {
        self.committer = committer
        self.clock = clock
        self.log = log
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
        let unit = ThisProcess.systemdUnit(ofProcess: peer.pid) ?? ""
        return connect(socket, of: peer, unit: unit)
    }

    /// Takes a connection of a known peer in, or says why not and drops it.
    func connect(
        _ socket: any Connection, of peer: PeerCredentials, unit: String = ""
    ) -> Session? {
        let ofUser = sessions.values.count { $0.peer.uid == peer.uid }
        guard sessions.count < limits.connections,
            ofUser < limits.connectionsPerUser
        else {
            refused += 1
            log(.warning, "refused a connection of uid \(peer.uid): too many connections")
            return nil
        }
        let session = Session(
            id: nextSession, socket: socket, peer: peer, unit: unit,
            now: clock.monotonicNanoseconds, source: TransactionSource(committer.journal),
            limits: limits)
        nextSession += 1
        sessions[session.id] = session
        greeting.insert(session.id)
        return session
    }

    /// Notes a connection that could not even be taken in.
    func refuse(_ reason: String) {
        refused += 1
        log(.warning, "refused a connection: \(reason)")
    }

    /// Forgets a session.
    func disconnect(_ session: Session, because reason: String?) {
        guard sessions.removeValue(forKey: session.id) != nil else { return }
        session.isClosing = true
        session.socket.shutdown()
        if let reason {
            refused += 1
            log(
                .warning,
                "closed the connection of pid \(session.peer.pid) uid \(session.peer.uid) "
                    + "(\(session.author)): \(reason)")
        }
    }

    /// Whether any connection has yet to say hello.
    var hasHandshakes: Bool { !greeting.isEmpty }

    /// Closes connections that did not say hello in time.
    func expireHandshakes() {
        let limit = UInt64(limits.handshakeMilliseconds) * 1_000_000
        let now = clock.monotonicNanoseconds
        for id in greeting {
            guard let session = sessions[id], !session.isReady else {
                greeting.remove(id)
                continue
            }
            guard now > session.connectedAt + limit else { continue }
            disconnect(session, because: "no hello within \(limits.handshakeMilliseconds) ms")
        }
    }

    // MARK: A turn

    /// Decodes what a client sent and queues its requests; damaged bytes close the connection.
    func receive(_ bytes: UnsafeRawBufferPointer, from session: Session) {
        session.decoder.append(bytes)
        session.inboundBytes =
            session.inbox.isEmpty ? bytes.count : session.inboundBytes + bytes.count
        do {
            while let envelope = try session.decoder.next() {
                session.noteRequest()
                guard admit(envelope, session) else { return }
            }
        } catch {
            return fail(session, "\(error)")
        }
        guard session.hasRoom || session.inboundBytes <= limits.inboundBytes else {
            return fail(
                session,
                "it sent \(session.inboundBytes) bytes without reading answers; at most "
                    + "\(limits.inboundBytes) wait")
        }
        ready.append(session.id)
    }

    /// Queues a request; false when it ends the connection.
    private func admit(_ envelope: Envelope<ClientMessage>, _ session: Session) -> Bool {
        if case .hello = envelope.message {
            session.inbox.append((envelope.id, envelope.message))
            return true
        }
        switch session.machine.received(request: envelope.id) {
        case .run: session.inbox.append((envelope.id, envelope.message))
        case .refuse(let error):
            guard session.hasRoom else {
                fail(session, "it goes on asking and does not read the answers")
                return false
            }
            session.answer(.failure(error), to: envelope.id)
        case .close(let error):
            fail(session, error.message)
            return false
        case .ignore: break
        }
        return true
    }

    /// Tells a session that what it needs next was given up, and ends it: it starts again from a snapshot.
    private func expire(_ session: Session, _ error: TandemError) {
        retention.counters.expiredSessions += 1
        session.answer(.failure(error), to: 0)
        _ = session.write()
        disconnect(session, because: "it fell behind the journal's first position")
    }

    private func fail(_ session: Session, _ reason: String) {
        session.answer(.failure(TandemError(.usage, "the connection is closed: \(reason)")), to: 0)
        _ = session.write()
        disconnect(session, because: reason)
    }

    /// Carries out everything that was received; returns when it is durable and answered.
    ///
    /// Throws what is final for the daemon: a failed journal or store.
    func turn() throws {
        try takeSaves()
        try commit()
        for id in ready {
            guard let session = sessions[id] else { continue }
            try serve(session)
        }
        ready.removeAll(keepingCapacity: true)
        try serveLagging()
        try expireSyncs()
        tellAbility()
    }

    /// Plans the saves of all sessions in the order of arrival; a full batch is flushed in between.
    ///
    /// Nothing of them is told or read before ``turn()`` has flushed them.
    func takeSaves() throws {
        for id in ready {
            guard let session = sessions[id], session.isReady else { continue }
            guard session.inbox.contains(where: { $0.message.isSave }) else { continue }
            let (saves, others) = session.inbox.partitioned { $0.message.isSave }
            session.inbox = others
            for (id, message) in saves {
                guard case .save(let request) = message else { continue }
                try take(request, id, session)
                if committer.isBatchFull { try commit() }
            }
        }
    }

    private func take(_ request: SaveRequest, _ id: UInt32, _ session: Session) throws {
        do {
            guard request.saveID.count <= 64 else {
                throw TandemError(.usage, "a save id has at most 64 bytes")
            }
            let principal = session.principal(author: request.author, context: request.context)
            switch try committer.begin(request, by: principal) {
            case .planned(let saved), .answered(let saved): planned.append((session, id, saved))
            }
        } catch let error as TandemError {
            session.answer(.failure(error), to: id)
        }
    }

    /// One flush; then everybody is told.
    private func commit() throws {
        let transactions: [EncodedTransaction]
        do {
            transactions = try committer.flush()
        } catch let error as TandemError {
            return refusePlanned(error)
        }
        if transactions.contains(where: \.isModel) { modelChanged() }
        if !transactions.isEmpty {
            for session in sessions.values where session.isReady { try pump(session) }
        }
        for (session, id, saved) in planned where !session.isClosing {
            if let refusal = committer.unkeptRefusal, !saved.wrote, !saved.isRepeat {
                session.answer(.failure(refusal), to: id)
            } else if session.sent >= saved.position {
                session.answer(.saved(saved), to: id)
            } else {
                session.held.append((saved.position, id, .saved(saved)))
            }
            finish(session)
        }
        planned.removeAll(keepingCapacity: true)
    }

    /// Nothing of the batch happened.
    private func refusePlanned(_ error: TandemError) {
        for (session, id, _) in planned where !session.isClosing {
            session.answer(.failure(error), to: id)
            finish(session)
        }
        planned.removeAll(keepingCapacity: true)
    }

    /// Tells sessions whether saves are taken, when that has changed since it was last asked.
    func tellAbility() {
        guard committer.ability.reason != told.ability.reason else { return }
        told = (committer.ability, told.changes + 1)
        Notify.status(told.ability.isReadOnly ? "read-only: \(told.ability.reason)" : "serving")
        for session in sessions.values where session.isReady {
            tellAbility(session)
            finish(session)
        }
    }

    /// A session without room hears of the latest state when it has some again.
    private func tellAbility(_ session: Session) {
        guard session.toldAbility != told.changes, session.hasRoom else { return }
        session.toldAbility = told.changes
        session.push(
            StatePush(
                isReadOnly: told.ability.isReadOnly,
                since: told.ability.since ?? clock.wallMicroseconds, reason: told.ability.reason))
    }

    /// Pushes what is new to a session as far as it has room; then what waited for that.
    private func pump(_ session: Session) throws {
        let last = committer.position
        if session.interests.isEmpty, session.sent >= committer.store.modelPosition {
            session.sent = last
        }
        while session.sent < last, session.hasRoom {
            do {
                let transaction = try session.source.transaction(
                    at: session.sent + 1, committer.ring)
                if let wanted = transaction.filtered({ session.interests.contains($0) }) {
                    try session.push(wanted)
                }
                session.sent += 1
            } catch let error as TandemError where error.code == .historyExpired {
                // What is queued goes out whole before.
                finish(session)
                guard session.outboundBytes == 0, !session.isClosing else { return }
                return expire(session, error)
            }
        }
        if session.sent == last { session.source.rest() }
        tellAbility(session)
        release(session)
        finish(session)
        // The socket took all that there was room for, so that no event of it will say when to go on.
        if session.sent < last, !session.isWaitingToWrite, !session.isClosing {
            lagging.insert(session.id)
        }
    }

    /// Whether sessions wait for nothing but the daemon to be sent more.
    var hasLagging: Bool { !lagging.isEmpty }

    /// Sends each session that lags as much as there is room for, then it is the others' turn.
    private func serveLagging() throws {
        guard !lagging.isEmpty else { return }
        let late = lagging
        lagging.removeAll()
        for id in late {
            guard let session = sessions[id] else { continue }
            try serve(session)
        }
    }

    /// Tells sessions how far the journal is where nothing was of interest to them.
    ///
    /// Done after a checkpoint, so at most a few times a second: what they resume from and show is never far behind.
    func markProgress() {
        for session in sessions.values where session.isReady && session.hasRoom {
            guard !session.interests.isEmpty else { continue }
            session.pushProgress()
            finish(session)
        }
    }

    /// Looks after the store, if it is time to; done after a checkpoint.
    func maintain() throws {
        let now = clock.monotonicNanoseconds
        for notice in try maintenance.look(at: committer.store, now: now) {
            log(.warning, notice.line)
        }
    }

    /// Sends answers that waited for pushes, and answers syncs that are reached.
    private func release(_ session: Session) {
        while let first = session.held.first, first.position <= session.sent {
            session.answer(first.message, to: first.id)
            session.held.removeFirst()
        }
        guard session.sent == committer.position else { return }
        for sync in session.syncs where sync.number <= session.sent {
            session.answer(.synced(position: session.sent), to: sync.id)
        }
        session.syncs.removeAll { $0.number <= session.sent }
        if session.syncs.isEmpty { waiting.remove(session.id) }
    }

    /// Writes what is queued; a connection that is gone is forgotten.
    private func finish(_ session: Session) {
        if !session.write() { return disconnect(session, because: nil) }
        if session.isWaitingToWrite { blocked.append(session.id) }
    }

    /// Goes on with a session whose socket takes bytes again, or that has requests.
    func serve(_ session: Session) throws {
        guard session.write() else { return disconnect(session, because: nil) }
        if session.isReady { try pump(session) }
        while !session.isClosing, let (id, message) = session.inbox.first,
            !session.isReady || (session.sent == committer.position && session.hasRoom)
        {
            session.inbox.removeFirst()
            try answer(message, id, session)
        }
        guard !session.isClosing else { return }
        finish(session)
        // The answers filled the queue and the socket took it at once: no event of it will say when to go on.
        if !session.inbox.isEmpty, !session.isWaitingToWrite, !session.isClosing {
            lagging.insert(session.id)
        }
    }

    private func expireSyncs() throws {
        guard !waiting.isEmpty else { return }
        let now = clock.monotonicNanoseconds
        for id in waiting {
            guard let session = sessions[id] else {
                waiting.remove(id)
                continue
            }
            for sync in session.syncs where sync.deadline <= now {
                let text =
                    "position \(sync.number) was not reached in time; the journal ends at "
                    + "\(committer.position)"
                session.answer(.failure(TandemError(.timeout, text)), to: sync.id)
            }
            session.syncs.removeAll { $0.deadline <= now }
            if session.syncs.isEmpty { waiting.remove(id) }
            finish(session)
        }
    }

    /// The earliest deadline of a waiting sync, if any.
    var nextDeadline: UInt64? {
        waiting.lazy.compactMap { self.sessions[$0] }.flatMap(\.syncs).map(\.deadline).min()
    }

    /// The sessions that have to wait for their sockets since this was last asked.
    func takeBlocked() -> [UInt64] {
        defer { blocked.removeAll(keepingCapacity: true) }
        return blocked
    }

    /// Tags mean something else under another model only for new entities; interests stay valid.
    private func modelChanged() { log(.info, "clients are told of the new model") }

    // MARK: Requests

    private func answer(_ message: ClientMessage, _ id: UInt32, _ session: Session) throws {
        do {
            guard session.isReady else { return try hello(message, id, session) }
            let answerer = Answerer(committer: committer, session: session, engine: self)
            switch message {
            case .hello: fail(session, "hello was said already")
            case .save(let request):
                try take(request, id, session)
                try commit()
            case .sync(let sync):
                let wait = UInt64(sync.timeoutMilliseconds) * 1_000_000
                let deadline = clock.monotonicNanoseconds + wait
                session.syncs.append((sync.number, id, deadline))
                waiting.insert(session.id)
                release(session)
            case .schema(let request): try schema(request, id, session)
            default: session.answer(try answerer.answer(message), to: id)
            }
        } catch let error as TandemError {
            session.answer(.failure(error), to: id)
        }
    }

    private func schema(_ request: SchemaRequest, _ id: UInt32, _ session: Session) throws {
        if let text = request.model {
            try install(text, session)
            try pump(session)
        }
        let answer = SchemaAnswer(position: committer.position, model: committer.modelBytes)
        if session.sent == committer.position {
            session.answer(.schema(answer), to: id)
        } else {
            session.held.append((answer.position, id, .schema(answer)))
        }
    }

    private func install(_ text: String, _ session: Session) throws {
        let model: Model
        do {
            model = try Model(parsing: text)
        } catch {
            throw TandemError(.usage, error.description)
        }
        try commit()
        let before = committer.position
        try committer.install(model, by: session.principal(author: nil, context: ""))
        guard committer.position > before else { return }
        modelChanged()
        for other in sessions.values where other.isReady { try pump(other) }
    }

    private func hello(_ message: ClientMessage, _ id: UInt32, _ session: Session) throws {
        guard case .hello(let hello) = message else {
            return fail(session, "the first message must be a hello")
        }
        switch session.machine.received(hello) {
        case .ignore: return
        case .refuse(let error): return fail(session, error.message)
        case .greet: break
        }
        session.author = hello.author
        do {
            if let text = hello.model, !(try serves(text)) { try install(text, session) }
            try welcome(hello, id, session)
        } catch let error as TandemError {
            session.answer(.failure(error), to: 0)
            _ = session.write()
            disconnect(session, because: error.description)
        }
    }

    /// True when a client that brings this model finds everything it knows in the store.
    private func serves(_ text: String) throws -> Bool {
        guard let stored = committer.store.model?.model else { return false }
        guard let model = try? Model(parsing: text) else { return false }
        return ModelChange.serves(stored, model)
    }

    private func welcome(_ hello: Hello, _ id: UInt32, _ session: Session) throws {
        let last = committer.position
        let resumed = hello.resume.map { canResume($0) } ?? false
        if let model = committer.store.model {
            session.interests = Set(hello.interests.compactMap { model.entity(named: $0)?.tag })
        }
        session.sent = resumed ? hello.resume?.number ?? last : last
        let welcome = Welcome(
            protocolVersion: 1, log: position.log, epoch: position.epoch, position: last,
            resumed: resumed, model: committer.modelBytes, lease: try firstLease(),
            saveIDFloor: committer.store.saveFloor, isReadOnly: told.ability.isReadOnly,
            server: "tandemd", limits: limits.session)
        session.decoder.frameBytes = limits.session.frameBytes
        session.decoder.messageBytes = limits.session.messageBytes
        session.answer(.welcome(welcome), to: id)
        _ = session.machine.welcomed(cursor: session.sent)
        session.toldAbility = told.ability.isReadOnly ? 0 : told.changes
        try pump(session)
    }

    /// Who only reads needs no numbers, so that a store without room greets with none of them.
    private func firstLease() throws -> Lease {
        do {
            return try committer.lease(UInt32(limits.leaseNumbers))
        } catch let error as TandemError where error.code == .readOnly {
            return Lease(first: 0, count: 0, epoch: position.epoch)
        }
    }

    /// True when everything after a position is still in the journal, under the model of today.
    private func canResume(_ resume: Position) -> Bool {
        position.isComparable(with: resume) && resume.number <= position.number
            && resume.number + 1 >= committer.journal.bounds.first
            && resume.number >= committer.store.modelPosition
    }
}

extension ClientMessage {
    var isSave: Bool { if case .save = self { true } else { false } }
}

extension Array {
    /// The elements that are picked, and the others, both in order.
    func partitioned(_ isPicked: (Element) -> Bool) -> (picked: [Element], others: [Element]) {
        (filter(isPicked), filter { !isPicked($0) })
    }
}
