import TandemIO
import TandemModel
import TandemWire

/// The effects of the messages of one read, dispatched after the connection's lock is released.
struct ReceivedBatch {
    /// Answers, with the promises to resolve.
    var answers:
        [(reply: ReplyPromise<DaemonMessage>, outcome: ReplyPromise<DaemonMessage>.Outcome)] = []
    /// Promises of callers that wait for a session.
    var sessions: [ReplyPromise<ServerState>] = []
    /// The received transactions, in order.
    var transactions: [Transaction] = []
    /// Whether the last known position changed.
    var moved = false
    /// Whether the stream of transactions has a gap.
    var isInterrupted = false
    /// The change in the connection's state, if there was one.
    var event: ConnectionEvent?
    /// Changes between writable and read-only.
    var readOnlyEvents: [ConnectionEvent] = []
    /// The model that took effect, if it differs from the previous one.
    var model: (hash: StableHash, position: Position)?
}

extension ReceivedBatch {
    fileprivate mutating func recordModel(_ state: ConnectionState) {
        model = state.session.map { ($0.model.hash, $0.position($0.position)) }
    }
}

extension Connection {
    /// Sends the hello on a new socket, with the position at which to resume.
    func greet(on inbound: InboundReader) throws(TandemError) {
        try state.withLock { state throws(TandemError) in
            state.io.inbound = inbound
            state.io.outbox.removeAll()
            state.daemon.limits = SessionLimits()
            let session = state.session
            let names = state.interests.compactMap { session?.model.entity(tagged: $0)?.name }
            let hello = Hello(
                protocolVersion: WireLimits.protocolVersion, author: author,
                model: declaredModel?.json.text, resume: session.map { $0.position($0.position) },
                interests: names.sorted(), numbers: limits.firstNumbers)
            try state.greet(hello)
        }
    }

    /// Handles a message; throws if the daemon violates the protocol or rejects this client.
    func receive(_ message: DaemonMessage, id: UInt32, _ received: inout ReceivedBatch)
        throws(TandemError)
    {
        switch message {
        case .welcome(let welcome): try adopt(welcome, &received)
        case .transaction(let push): try handlePush(push, &received)
        case .progress(let push): try handleProgress(push, &received)
        case .state(let push): handleState(push, &received)
        case .failure(let error) where id == 0: throw error
        default: try handleAnswer(message, id: id, &received)
        }
    }

    /// Dispatches the effects of received messages.
    func deliver(_ received: ReceivedBatch) {
        if received.isInterrupted { payloads.interrupt() }
        if !received.transactions.isEmpty, let model = knownSession?.model {
            for transaction in received.transactions { payloads.publish(transaction, model) }
        }
        if let event = received.event { payloads.publish(event) }
        for event in received.readOnlyEvents { payloads.publish(event) }
        if let (hash, position) = received.model { payloads.notify(.model(hash, position)) }
        for answer in received.answers { answer.reply.resolve(answer.outcome) }
        if !received.sessions.isEmpty, let session = knownSession {
            for reply in received.sessions { reply.resolve(.success(session)) }
        }
        guard received.moved else { return }
        for receiver in state.withLock({ $0.receivers }) { receiver.signal() }
    }

    /// Returns whether an answer is being assembled, or was last assembled at or after this
    /// position.
    ///
    /// A context that awaits such an answer has to stay at its position to be able to use it.
    func keepsBack(at position: UInt64) -> Bool {
        state.withLock { $0.requests.isAssembling || $0.requests.assembledAt >= position }
    }

    // MARK: Pushes

    private func handlePush(_ push: TransactionPush, _ received: inout ReceivedBatch)
        throws(TandemError)
    {
        let encoded = push.transaction
        let transaction: Transaction
        do {
            transaction = try encoded.decoded()
        } catch {
            throw TandemError(.storage, "transaction \(encoded.position) cannot be read: \(error)")
        }
        try state.withLock { state throws(TandemError) in
            try state.receivedPush(from: push.previous, to: encoded.position)
            try check(transaction, &state)
            state.dropMerged()
            state.ring.append(transaction, bytes: encoded.bytes.count)
            state.followCursor()
            if case .model = transaction.content { received.recordModel(state) }
        }
        received.transactions.append(transaction)
        received.moved = true
    }

    private func handleProgress(_ push: ProgressPush, _ received: inout ReceivedBatch)
        throws(TandemError)
    {
        try state.withLock { state throws(TandemError) in
            try state.receivedPush(from: push.previous, to: push.position)
            state.followCursor()
        }
        received.moved = true
    }

    private func handleState(_ push: StatePush, _ received: inout ReceivedBatch) {
        state.withLock { updateState(isReadOnly: push.isReadOnly, push.reason, &$0, &received) }
    }

    private func updateState(
        isReadOnly: Bool, _ reason: String, _ state: inout ConnectionState,
        _ received: inout ReceivedBatch
    ) {
        guard state.daemon.isReadOnly || isReadOnly else { return }
        state.daemon.isReadOnly = isReadOnly
        guard var event = event(isReadOnly ? .readOnly : .writable, state) else { return }
        event.reason = reason
        received.readOnlyEvents.append(event)
    }

    /// Validates the changes of a transaction; a new model takes effect for all later messages.
    private func check(
        _ transaction: Transaction, _ state: inout ConnectionState
    ) throws(TandemError) {
        if case .model(let bytes) = transaction.content {
            state.session?.model = try Self.model(bytes)
            return
        }
        guard let model = state.session?.model else { return }
        for change in transaction.changes {
            guard let entity = model.entity(tagged: change.object.tag), change.isValid(for: entity)
            else {
                throw TandemError(
                    .storage,
                    "transaction \(transaction.position) does not fit the model: object "
                        + "\(model.id(of: change.object))")
            }
        }
    }

    private static func model(_ bytes: [UInt8]) throws(TandemError) -> CompiledModel {
        var reader = ByteReader(bytes)
        do {
            return try CompiledModel(from: &reader)
        } catch {
            throw TandemError(.schemaMismatch, "the daemon's model cannot be read: \(error)")
        }
    }

    // MARK: Welcome and answers

    private func adopt(_ welcome: Welcome, _ received: inout ReceivedBatch) throws(TandemError) {
        var model: CompiledModel?
        if let bytes = welcome.model { model = try Self.model(bytes) }
        try state.withLock { state throws(TandemError) in
            let before = state.session
            // An equal model keeps its identity, so that nothing compiled for it needs recompiling.
            if let known = before?.model, known.hash == model?.hash,
                known.version == model?.version, known.identifiers == model?.identifiers
            {
                model = known
            }
            let installs = model == nil && declaredModel != nil
            let (isResumed, cursor) = try state.welcomed(welcome, installsModel: installs)
            received.isInterrupted = before != nil && !isResumed
            if !isResumed { state.ring.restart(at: welcome.position) }
            // Positions in a different log or epoch can't be compared.
            if before?.log != welcome.log || before?.epoch != welcome.epoch {
                state.pins.releaseAll()
            }
            state.session = ServerState(
                model: model ?? before?.model ?? Self.emptyModel, log: welcome.log,
                epoch: welcome.epoch,
                generation: (before?.generation ?? 0) + (isResumed ? 0 : 1),
                position: cursor)
            state.leases.add(welcome.lease)
            state.daemon.limits = welcome.limits
            // If the daemon is read-only, its next push contains the reason.
            if !welcome.isReadOnly { updateState(isReadOnly: false, "", &state, &received) }
            let error = TandemError(
                .unknownOutcome,
                "the save may or may not have been applied: the daemon no longer knows its id; look at the objects"
            )
            for request in state.forgotten(below: welcome.saveIDFloor) {
                received.answers.append((request.reply, .failure(error)))
            }
            if installs, let declared = declaredModel {
                try state.send(
                    .schema(SchemaRequest(model: declared.json.text)), id: Self.installID)
                return
            }
            becomeReady(&state, &received)
            guard let before else { return }
            received.event = event(.restored, state)
            if before.model.hash != state.session?.model.hash { received.recordModel(state) }
        }
    }

    private func becomeReady(_ state: inout ConnectionState, _ received: inout ReceivedBatch) {
        guard state.isReady else { return }
        state.disconnection.lastError = nil
        received.sessions += state.sessionWaiters.map(\.reply)
        state.sessionWaiters.removeAll()
        received.moved = true
        state.queue.insert(contentsOf: state.repeatedPins, at: 0)
        for index in state.queue.indices {
            state.queue[index].deadline = deadline(
                after: timeoutMilliseconds(for: state.queue[index].message, isReady: true))
        }
        state.dispatchQueue()
    }

    private func handleAnswer(
        _ message: DaemonMessage, id: UInt32, _ received: inout ReceivedBatch
    ) throws(TandemError) {
        try state.withLock { state throws(TandemError) in
            if id == Self.installID { return try installed(message, &state, &received) }
            guard state.receivedAnswer(message, id: id) else { return }
            if case .lease(let lease) = message { state.leases.add(lease) }
            // The last chunk, or a late answer without a receiver, makes room for a queued request.
            guard let message = try assembled(message, id, &state, &received),
                let request = state.requests.remove(id)
            else { return state.dispatchQueue() }
            if case .failure(let error) = message {
                // Otherwise no further lease would ever be requested.
                if case .lease = request.message { state.leases.isAsking = false }
                if request.deliveredHead { request.fail(error) }
                received.answers.append((request.reply, .failure(error)))
            } else {
                if request.deliveredHead { request.fail(Self.otherAnswer) }
                received.answers.append((request.reply, .success(message)))
            }
            state.dispatchQueue()
        }
    }

    private static var otherAnswer: TandemError {
        TandemError(.storage, "the daemon began one answer and continued with another")
    }

    /// Returns the answer that a message completes.
    ///
    /// Returns nil if more chunks follow, or if the request's chunk reader receives them.
    private func assembled(
        _ message: DaemonMessage, _ id: UInt32, _ state: inout ConnectionState,
        _ received: inout ReceivedBatch
    ) throws(TandemError) -> DaemonMessage? {
        switch message {
        case .fetched(let head) where head.hasMore:
            if let reply = state.requests.begin(head, id) {
                received.answers.append((reply, .success(message)))
            }
            return nil
        case .part(let part):
            let deadline = deadline(after: limits.answerMilliseconds)
            switch try state.requests.add(part, id, deadline: deadline) {
            case .incomplete: return nil
            case .abandoned:
                // A message this short fits any limit; if the connection is lost, the request ends
                // anyway.
                try? state.send(.cancel, id: id)
                return nil
            case .delivered:
                _ = state.requests.remove(id)
                state.dispatchQueue()
                return nil
            case .assembled(let answer): return .fetched(answer)
            }
        default: return message
        }
    }

    private func installed(
        _ message: DaemonMessage, _ state: inout ConnectionState, _ received: inout ReceivedBatch
    ) throws(TandemError) {
        switch message {
        case .failure(let error): throw error
        case .schema(let answer):
            try state.installedModel(at: answer.position)
            if let bytes = answer.model { state.session?.model = try Self.model(bytes) }
            becomeReady(&state, &received)
        default: throw TandemError.unexpectedAnswer("its model")
        }
    }

    /// The id of the request that installs a model during the greeting.
    static let installID = UInt32.max

    private static let emptyModel: CompiledModel = {
        do {
            return try CompiledModel(ManagedObjectModel())
        } catch {
            preconditionFailure("A model without entities must be valid: \(error).")
        }
    }()

    // MARK: Connection loss and deadlines

    /// Marks the connection as lost; requests in flight are queued for the next connection.
    func lost(_ error: TandemError) {
        let end = deadline(after: limits.connectMilliseconds)
        let attempts = limits.requestAttempts
        let (event, failed) = state.withLock { state -> (ConnectionEvent?, [PendingRequest]) in
            let wasReady = state.isReady
            state.loseSocket()
            state.disconnection.lastError = error
            let failed = state.requeue(deadline: end, attempts: attempts)
            return (wasReady ? self.event(.lost, state) : nil, failed)
        }
        for request in failed { request.lose(tooLate(request, error)) }
        if let event { payloads.publish(event) }
    }

    private func event(_ kind: ConnectionEvent.State, _ state: ConnectionState) -> ConnectionEvent?
    {
        state.session.map { ConnectionEvent(state: kind, position: $0.position($0.position)) }
    }

    /// Returns the milliseconds until the earliest deadline; -1 if there is none.
    func timeout() -> Int32 {
        let next = state.withLock { $0.phase == .ready ? $0.nextDeadline : $0.nextEnd(limits) ?? 0 }
        guard let next else { return -1 }
        let now = clock.monotonicNanoseconds
        return next <= now ? (next == 0 ? 100 : 0) : Int32(clamping: (next - now) / 1_000_000 + 1)
    }

    /// Fails the requests and callers whose deadlines have passed.
    func expire() {
        let now = clock.monotonicNanoseconds
        let (late, reason) = state.withLock { state in
            (state.expired(at: now, limits), state.disconnection.lastError)
        }
        for request in late.requests { request.fail(tooLate(request, reason)) }
        let error = reason ?? TandemError(.disconnected, noAnswer)
        for session in late.sessions { session.resolve(.failure(error)) }
    }

    /// The error message for a connected daemon that does not answer.
    var noAnswer: String { "\(transport.name): the daemon did not answer in time" }

    /// Returns the error for a request that will not be answered.
    func tooLate(_ request: PendingRequest, _ reason: TandemError?) -> TandemError {
        let why = reason?.message ?? noAnswer
        if request.wasSent {
            switch request.message {
            case .save:
                return TandemError(
                    .unknownOutcome,
                    "the save may or may not have been applied (\(why)); save again")
            case .batch, .insert:
                return TandemError(
                    .unknownOutcome,
                    "part of the batch may have been applied (\(why)); repeat the batch with the same id"
                )
            default: break
            }
        }
        return reason.map { TandemError($0.code, $0.message) } ?? TandemError(.timeout, why)
    }
}
