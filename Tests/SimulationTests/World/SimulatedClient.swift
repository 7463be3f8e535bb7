import TandemIO
import TandemModel
import TandemWire
import TestSupport

/// A client: the real state machine of the protocol, and a model of an application's data and
/// pending requests.
final class SimulatedClient {
    let number: Int
    let uid: UInt32
    let oracle: Oracle
    private(set) var pipe: Pipe?
    private(set) var machine = ClientConnectionStateMachine(hello: Hello())
    private var decoder = DaemonMessageDecoder()
    private var assembler = AnswerAssembler()
    private var hello = Hello()
    /// The position from which to resume after the connection is lost.
    private(set) var resume: Position?
    private(set) var identity: Position?
    private var followed = FollowedEntities()
    /// The entities that the client subscribes to, by tag.
    var interests: Set<EntityTag> { followed.certain }
    private(set) var model: CompiledModel?
    private var lease: (next: UInt64, end: UInt64) = (0, 0)
    private(set) var requests: [UInt32: OpenRequest] = [:]
    /// The time at which each request was sent, in nanoseconds.
    private var sentTimes: [UInt32: UInt64] = [:]
    private(set) var saves: [SaveRecord] = []
    var batches: [BatchRecord] = []
    /// The pinned positions, by lease number.
    private(set) var pins: [UInt32: UInt64] = [:]
    /// The number of answers at earlier positions and to verdict requests.
    private(set) var pastAnswerCount = 0
    private var saveCount: UInt64 = 0
    /// Whether the client does not read.
    var isStalled = false
    /// Whether the client sent invalid bytes, or messages in an invalid order.
    private(set) var isRude = false
    var sabotage: ClientSabotage?
    private var oldAnswer: FetchAnswer?
    private(set) var reads = 0

    init(_ number: Int, uid: UInt32, _ oracle: Oracle) {
        self.number = number
        self.uid = uid
        self.oracle = oracle
    }

    var isReady: Bool { machine.state == .ready && pipe != nil }
    var cursor: UInt64 { machine.cursor }

    // MARK: Connection

    /// Connects, and sends a hello with the names of the subscribed entities.
    func connect(_ pipe: Pipe, model text: String?, following names: [String]) {
        hello = Hello(
            author: "client \(number)", model: text, resume: resume, interests: names.sorted())
        machine = ClientConnectionStateMachine(hello: hello)
        decoder = DaemonMessageDecoder()
        assembler = AnswerAssembler()
        self.pipe = pipe
        isRude = false
        guard case .send(let hello) = machine.connected() else { return }
        write(.hello(hello), 0)
    }

    /// Handles the end of the connection.
    func disconnected() {
        if machine.state == .ready, let identity { resume = identity.at(machine.cursor) }
        _ = machine.closed()
        for save in saves { save.isSent = false }
        for batch in batches { batch.isSent = false }
        requests = [:]
        pins = [:]
        pipe = nil
        isStalled = false
    }

    /// Ends the connection from the client's side.
    func leave(_ how: (Pipe) -> Void) {
        if let pipe { how(pipe) }
        disconnected()
    }

    func write(_ message: ClientMessage, _ id: UInt32) {
        var bytes: [UInt8] = []
        guard (try? FrameEncoder.encode(message, id: id, into: &bytes)) != nil else { return }
        pipe?.send(bytes)
    }

    /// Sends a request, if one more is allowed.
    func send(_ message: ClientMessage, _ request: OpenRequest) {
        guard isReady, let id = try? machine.begin() else { return }
        requests[id] = request
        sentTimes[id] = oracle.now
        followed.ask(request.interests, request: id)
        write(message, id)
    }

    func sendRubbish(_ bytes: [UInt8]) {
        isRude = true
        pipe?.send(bytes)
    }

    // MARK: Saves

    /// Saves operations for the first time.
    func save(_ operations: [SaveOperation], _ policy: MergePolicy) {
        guard let model, let identity, isReady else { return }
        saveCount += 1
        var writer = ByteWriter()
        for operation in operations { operation.encode(into: &writer) }
        var id = ByteWriter()
        id.uint32(UInt32(number))
        id.uint64(saveCount)
        let request = SaveRequest(
            saveID: id.bytes, contentHash: StableHash(writer.bytes), policy: policy,
            modelVersion: model.version, operations: operations)
        let save = SaveRecord(
            request, model, floor: oracle.known, sentAt: machine.cursor, epoch: identity.epoch)
        saves.append(save)
        send(save)
    }

    func send(_ save: SaveRecord) {
        guard isReady, !save.isSent, machine.inFlightCount < WireLimits.requestsInFlight else {
            return
        }
        var request = save.request
        if save.wasSent, sabotage != .ignoresFloor { request.firstSentAt = save.sentAt }
        save.isSent = true
        save.wasSent = true
        send(.save(request), .save(save))
    }

    /// Returns the saves that may be repeated: open ones if `isOpen`, otherwise acknowledged ones.
    func repeatable(isOpen: Bool) -> [SaveRecord] {
        saves.filter { save in
            guard !save.isSent, save.epoch == identity?.epoch else { return false }
            if isOpen { return save.state == .open }
            return save.state == .acknowledged
        }
    }

    /// Returns the next leased number.
    func allocateNumber() -> UInt64? {
        guard lease.next < lease.end else { return nil }
        defer { lease.next += 1 }
        return lease.next
    }

    // MARK: Receiving

    /// Receives bytes; returns false if the connection ended.
    func receive(_ bytes: [UInt8]) -> Bool {
        decoder.append(bytes)
        do {
            while let envelope = try decoder.next() {
                guard handle(envelope) else { return false }
            }
        } catch {
            oracle.report(2, "client \(number) cannot read the daemon: \(error)")
        }
        return oracle.violation == nil
    }

    private func handle(_ envelope: Envelope<DaemonMessage>) -> Bool {
        let cursor = machine.cursor
        switch envelope.message {
        case .welcome(let welcome): return handle(welcome)
        case .transaction(let push):
            if sabotage == .losesPush {
                sabotage = nil
                return true
            }
            let position = push.transaction.position
            guard announced(machine.received(push: push.previous, position: position)) else {
                return false
            }
            oracle.receives(push.transaction, after: cursor, followed)
            followed.hear(push.transaction)
            adoptModel(push.transaction)
        case .progress(let push):
            guard announced(machine.received(push: push.previous, position: push.position)) else {
                return false
            }
            oracle.learns(push.position)
            oracle.skips(from: cursor, below: push.position + 1, interests)
        // The message has no position, and rejected saves are checked by their own answers.
        case .state: break
        case .failure(let error):
            return failed(envelope.id, error)
        default:
            let position = envelope.message.announcedPosition
            if let position { oracle.skips(from: cursor, below: position + 1, interests) }
            let action = machine.received(
                answer: envelope.id, position: position,
                isLast: envelope.message.isLastOfAnswer)
            if let position, let heard = followed.answer(request: envelope.id) {
                oracle.checkPushes(heard, from: position, to: cursor, interests)
            }
            guard let answer = assembler.consume(envelope) else { return action == .partial }
            guard action == .complete, let request = requests.removeValue(forKey: envelope.id)
            else {
                let answer = "\(envelope.message)".prefix(300)
                oracle.report(
                    0, "client \(number) got an answer to no request: \(envelope.id) \(answer)")
                return false
            }
            answered(request, answer.message)
        }
        return true
    }

    private func announced(_ action: ClientConnectionStateMachine.PushAction) -> Bool {
        switch action {
        case .deliver: return true
        case .gap(let expected, let got):
            oracle.report(2, "client \(number) at \(expected) is sent a push after \(got)")
        case .ignore: oracle.report(2, "client \(number) is pushed to before its welcome")
        }
        return false
    }

    private func adoptModel(_ transaction: EncodedTransaction) {
        guard transaction.isModel, case .model(let bytes)? = try? transaction.decoded().content
        else { return }
        adoptModel(bytes)
    }

    private func adoptModel(_ bytes: [UInt8]?) {
        guard let bytes else { return }
        var reader = ByteReader(bytes)
        model = try? CompiledModel(from: &reader)
    }

    private func failed(_ id: UInt32, _ error: TandemError) -> Bool {
        guard id != 0 else {
            // Its model may be rejected, its hello may have arrived too late, or the next
            // transaction it needs may have been removed.
            let isExpected =
                isRude
                || (machine.state == .awaitingWelcome
                    && (hello.model != nil || error.code == .timeout))
                || (machine.state == .ready && error.code == .historyExpired
                    && oracle.lacksNext(after: machine.cursor))
            oracle.expect(isExpected, 7, "client \(number) was disconnected: \(error)")
            return false
        }
        _ = machine.received(failure: id)
        followed.fail(request: id)
        let request = requests.removeValue(forKey: id)
        if case .batch(let batch)? = request { failed(batch, error) }
        if let positions = request?.positions {
            oracle.checkPastRefusal(positions, error, sentAt: sentTimes[id] ?? 0)
        }
        guard case .save(let save)? = request else { return true }
        save.isSent = false
        let isForgotten =
            error.code == .unknownOutcome
            && save.answer.map { !oracle.truth.remembers($0.position) } ?? true
        oracle.expect(
            save.state != .acknowledged || isForgotten, 3,
            "the repeat of a save is refused: \(error)")
        guard error.code != .unknownOutcome else {
            save.state = .unknown
            return true
        }
        oracle.refuses(save, uid: uid, error)
        save.state = .refused
        return true
    }

    // MARK: Welcome

    private func handle(_ welcome: Welcome) -> Bool {
        switch machine.received(welcome) {
        case .close(let error):
            oracle.report(2, "client \(number) cannot process its welcome: \(error)")
            return false
        case .resume: break
        case .refresh: refused(welcome)
        }
        oracle.learns(welcome.position)
        oracle.checkLease(welcome.lease)
        lease = (welcome.lease.first, welcome.lease.first + UInt64(welcome.lease.count))
        adoptModel(welcome.model)
        identity = Position(log: welcome.log, epoch: welcome.epoch, number: welcome.position)
        let known = oracle.truth.model(at: welcome.position)
        followed = FollowedEntities(
            certain: Set(hello.interests.compactMap { known?.entity(named: $0)?.tag }))
        settleSaves(welcome)
        for save in repeatable(isOpen: true) { send(save) }
        for batch in repeatableBatches(isOpen: true) { send(batch) }
        return true
    }

    /// Expects that resuming was rejected only because transactions were removed, or because the
    /// model is newer.
    private func refused(_ welcome: Welcome) {
        guard let resume, resume.epoch == welcome.epoch else { return }
        let isExpired =
            oracle.lacksNext(after: resume.number)
            || oracle.truth.models.contains { $0.position > resume.number }
        oracle.expect(
            isExpired, 2, "client \(number) can't resume at \(resume.number), which is kept")
    }

    private func settleSaves(_ welcome: Welcome) {
        for save in saves where save.state == .open || save.state == .acknowledged {
            let isForgotten =
                save.sentAt + 1 < welcome.saveIDFloor && sabotage != .ignoresFloor
            if save.epoch != welcome.epoch || isForgotten {
                save.state = .unknown
            }
        }
        for batch in batches where batch.state == .open || batch.state == .acknowledged {
            if batch.epoch != welcome.epoch || batch.sentAt + 1 < welcome.saveIDFloor {
                batch.state = .unknown
            }
        }
    }

    // MARK: Answers

    private func answered(_ request: OpenRequest, _ message: DaemonMessage) {
        switch (request, message) {
        case (.save(let save), .saved(let saved)):
            save.isSent = false
            oracle.acknowledges(saved, save, uid: uid)
            if save.answer == nil { save.answer = saved }
            save.state = .acknowledged
        case (.batch(let batch), .batched(let answer)): ended(batch, answer)
        case (.verdicts(let request, let lists, let floor), .verdicts(var answer)):
            pastAnswerCount += 1
            if sabotage == .turnsVerdicts { answer.turn() }
            judged(answer, request, lists, floor)
        case (.fetch(let fetch, _), .fetched(let answer)) where fetch.at != 0:
            pastAnswerCount += 1
            oracle.checkPastAnswer(answer, fetch)
        case (.read(let read, _), .objects(let answer)) where read.at != 0:
            pastAnswerCount += 1
            oracle.checkPastAnswer(answer, read)
        case (.pin(let request), .pinned(let answer)):
            oracle.expect(answer.position == request.position, 6, "a pin is elsewhere")
            pins[request.lease] = request.position == 0 ? nil : request.position
        case (.fetch(let fetch, let floor), .fetched(let answer)):
            reads += 1
            let answer = sabotage == .readsOldAnswers ? oldAnswer ?? answer : answer
            oldAnswer = answer
            oracle.reads(at: answer.position, askedAt: floor)
            oracle.fetches(answer, fetch.request)
        case (.read(let read, let floor), .objects(let answer)):
            reads += 1
            oracle.reads(at: answer.position, askedAt: floor)
            for object in answer.objects { oracle.checkRead(object, at: answer.position) }
            for list in answer.members {
                oracle.checkRead(list, askedUnder: read.modelVersion, at: answer.position)
            }
            for object in answer.missing {
                let image = oracle.truth.image(object.number, at: answer.position)
                oracle.expect(image == nil, 3, "object \(object.number) is read as missing")
            }
        case (.sync(let wanted, let floor), .synced(let position)):
            oracle.reads(at: position, askedAt: max(floor, wanted))
        case (.history(let wanted), .history(let history)): oracle.checkHistory(history, wanted)
        case (.lease, .lease(let lease)):
            oracle.checkLease(lease)
            self.lease = (lease.first, lease.first + UInt64(lease.count))
        case (.schema, .schema(let answer)): adoptModel(answer.model)
        case (.status, .status): break
        default: oracle.report(0, "client \(number) got an answer of the wrong type")
        }
    }
}
