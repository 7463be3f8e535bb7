import TandemIO
import TandemModel
import TandemWire

/// One connected client: a cursor over the journal, its interests, and bytes in both directions.
///
/// State:
/// - `behind`: every transaction up to here was considered for this client, pushed or of no interest; nil at the journal's
///   end, where it stays while nothing comes that interests it. Changed by ``Audiences`` and ``Engine`` alone.
/// - `machine`: hello, requests in flight, and the last position that the client was told, by a push or by an answer: the
///   next push names it as its predecessor, so that the client notices a gap.
/// - `inbox`: requests that wait for their turn or for the session to reach the end; `held`: answers that wait for pushes to
///   go first.
/// - `outbound`: what the socket has not yet taken.
final class Session {
    /// In which queues of the engine a session is.
    struct Marks: OptionSet {
        let rawValue: UInt8
        static let saves = Marks(rawValue: 1)
        static let requests = Marks(rawValue: 2)
        static let pushes = Marks(rawValue: 4)
        static let reads = Marks(rawValue: 8)
        static let rows = Marks(rawValue: 16)
    }

    /// A request that waits for its turn.
    struct Waiting {
        let id: UInt32
        let message: ClientMessage
        let bytes: Int
        /// When its last bytes arrived.
        let arrival: UInt64
    }

    let id: UInt64
    let socket: any Connection
    let peer: PeerCredentials
    let unit: String
    /// What it may do.
    var role: Role
    let connectedAt: UInt64
    var decoder = ClientMessageDecoder()
    var machine: DaemonSessionStateMachine
    var isClosing = false
    /// The bytes of a message that did not arrive completely, as ``UnfinishedMessages`` counts them.
    var unfinishedBytes = 0
    /// When the first bytes of that message arrived; nil without one.
    var unfinishedSince: UInt64?
    var author = ""
    /// Stands for the model that it declared; nil for one that takes the store's.
    var declaredHash: StableHash?
    /// Whom it follows with; nil before its hello.
    ///
    /// Held by ``Audiences`` as long as it has sessions, which it holds in turn: a daemon that goes must let go of both.
    unowned var audience: Audience? { didSet { audienceNumber = audience?.number ?? 0 } }
    private(set) var audienceNumber: UInt64 = 0
    var behind: UInt64?
    var marks: Marks = []
    /// When the last bytes arrived.
    private var arrival: UInt64 = 0
    private(set) var inbox: [Waiting] = []
    /// Parts of batch inserts, which let what comes behind them go first.
    private var rows: [Waiting] = []
    /// How many rows of them a transaction has.
    var pace = BatchPace()
    /// The bytes of the requests in the inbox, and of those parts.
    private(set) var inboundBytes = 0
    /// The bytes of the request that was taken out of it last.
    private(set) var askedBytes = 0
    /// When the request arrived that was taken out of it last.
    private(set) var askedAt: UInt64 = 0
    /// How many saves are in the inbox; while there are any, no more is read from the socket.
    private(set) var waitingSaves = 0
    var held: [(position: UInt64, id: UInt32, message: DaemonMessage)] = []
    var syncs: [(number: UInt64, id: UInt32, deadline: UInt64)] = []
    /// The fetch that is being carried out; later questions wait for it.
    var read: PendingRead?
    /// Where transactions are read for it.
    let readSource: TransactionSource
    /// The positions that it has pinned, by its numbers for them.
    var pins: [UInt32: PinLease] = [:]
    /// Whether it is to hear after the flush that a save was refused; nothing more of it is read before.
    var awaitsRefusal = false
    /// Whether it is to be told how far it was served, if it does not know.
    var owesProgress = false
    let source: TransactionSource
    private let committer: Committer
    /// How many changes of the daemon's ability to take saves were there when it was last told.
    var toldAbility: UInt64 = 0
    private var outbound = Outbound()
    private(set) var isWaitingToWrite = false
    /// What the poller watches the socket for.
    var watched = Interest.read
    /// Whether more than may wait for the client did, when it was written to last.
    var wasOverfull = false
    private(set) var pushes: UInt64 = 0
    /// The bytes that the socket took.
    private(set) var written: UInt64 = 0
    /// When it had last taken all there was of an answer in parts.
    var tookAt: UInt64 = 0
    private(set) var requests: UInt64 = 0

    init(
        id: UInt64, socket: any Connection, peer: PeerCredentials, unit: String, now: UInt64,
        committer: Committer, role: Role
    ) {
        self.id = id
        self.socket = socket
        self.peer = peer
        self.unit = unit
        self.role = role
        connectedAt = now
        self.committer = committer
        source = TransactionSource(committer.journal)
        readSource = TransactionSource(committer.journal)
        machine = DaemonSessionStateMachine(
            requestsInFlight: committer.limits.requestsInFlight)
    }

    /// Who a save of this session is by.
    ///
    /// Throws `usage` for names that are too long (``WireLimits/nameBytes``).
    func principal(author: String?, context: String) throws(TandemError) -> Principal {
        if let author { try WireLimits.check(name: author, of: "author") }
        try WireLimits.check(name: context, of: "context")
        return Principal(
            author: author ?? self.author, context: context, unit: unit, uid: peer.uid,
            gid: peer.gid, pid: UInt32(bitPattern: peer.pid))
    }

    /// Every transaction up to here was considered for this client.
    var sent: UInt64 { behind ?? committer.position }

    /// It needs every transaction behind this one: to be sent, or for its fetch.
    var needed: UInt64 { min(sent, read?.retained ?? .max) }

    /// The entities that it follows.
    var interests: Set<EntityTag> { audience?.interests ?? [] }

    /// The bytes that wait to be written; those of pushes are shared with other sessions.
    var outboundBytes: Int { outbound.count }

    /// Whether more than what may wait for a client does.
    var isOverfull: Bool { outboundBytes >= committer.limits.outboundBytes }

    /// Whether more may be queued; if not, the session stays where it is until the client reads.
    var hasRoom: Bool { !isWaitingToWrite && !isOverfull }

    /// Whether saves of it wait and their answers have room; what it sends behind them stays in the socket until then.
    var hasSave: Bool { isReady && waitingSaves > 0 && !isOverfull }

    /// Whether parts of batch inserts wait and their answers have room.
    var hasRows: Bool { isReady && !rows.isEmpty && !isOverfull }

    /// What the socket has to be watched for.
    var wants: Interest {
        let waits = read != nil || !rows.isEmpty
        let isBusy = waits && inboundBytes > committer.limits.inboundBytes
        let reads: Interest = isBusy || (waitingSaves > 0 && isOverfull) ? [] : .read
        return isWaitingToWrite ? reads.union(.write) : reads
    }

    /// Whether hello and welcome are exchanged.
    var isReady: Bool { machine.state == .ready }

    // MARK: Requests

    func noteRequest() { requests += 1 }

    /// Bytes came; the requests that they complete wait since then.
    func noteArrival(at time: UInt64) { arrival = time }

    /// Queues a request.
    func receive(_ envelope: Envelope<ClientMessage>, bytes: Int) {
        let request = Waiting(
            id: envelope.id, message: envelope.message, bytes: bytes, arrival: arrival)
        inboundBytes += bytes
        if case .insert = envelope.message { return rows.append(request) }
        inbox.append(request)
        if envelope.message.isSave { waitingSaves += 1 }
    }

    /// Takes the first save out of the inbox.
    func takeSave() -> (id: UInt32, request: SaveRequest, arrival: UInt64)? {
        guard waitingSaves > 0, let index = inbox.firstIndex(where: { $0.message.isSave }) else {
            return nil
        }
        let first = remove(at: index)
        guard case .save(let request) = first.message else { return nil }
        return (first.id, request, first.arrival)
    }

    /// Takes the first part of a batch insert.
    func takeRows() -> (insert: BatchInsert, id: UInt32)? {
        guard let first = rows.first, case .insert(let insert) = first.message else { return nil }
        rows.removeFirst()
        inboundBytes -= first.bytes
        return (insert, first.id)
    }

    /// Whether the first request is one that can be answered: after the hello not a save, which waits for a batch.
    var hasQuestion: Bool {
        guard let first = inbox.first, read == nil else { return false }
        return !isReady || (!first.message.isSave && canBeAnswered)
    }

    /// Whether it was told of everything up to the journal's end, and takes an answer.
    var canBeAnswered: Bool { behind == nil && hasRoom }

    /// Whether something of the answer to its read can be sent.
    var hasAnswer: Bool {
        guard let job = read?.job, hasRoom else { return false }
        return job.hasMessages || job.hasFailed
    }

    /// Takes the first request out of the inbox, if it can be answered.
    func takeQuestion() -> (id: UInt32, message: ClientMessage)? {
        guard hasQuestion else { return nil }
        let first = remove(at: 0)
        (askedBytes, askedAt) = (first.bytes, first.arrival)
        return (first.id, first.message)
    }

    /// Takes a question out of the inbox that its client gave up; false if it is not in it.
    func giveUp(question id: UInt32) -> Bool {
        guard let index = inbox.firstIndex(where: { $0.id == id && $0.message.isQuestion }) else {
            return false
        }
        _ = remove(at: index)
        return true
    }

    /// The unanswered requests, the running one first.
    var questions: [UInt32] {
        let waiting = inbox.filter { $0.message.isQuestion }.map(\.id)
        return [read?.id].compactMap(\.self) + waiting + syncs.map(\.id)
    }

    private func remove(at index: Int) -> Waiting {
        let request = inbox.remove(at: index)
        inboundBytes -= request.bytes
        if request.message.isSave { waitingSaves -= 1 }
        return request
    }

    // MARK: Sending

    /// Queues an answer; a position in it counts as announced.
    ///
    /// An answer that is too large for the wire becomes an error; then it is false, and nothing more of it is to be sent.
    @discardableResult
    func answer(_ message: DaemonMessage, to id: UInt32) -> Bool {
        do {
            try queue(message, id: id)
            _ = machine.answered(
                id: id, position: message.announcedPosition, isLast: message.isLastOfAnswer)
            return true
        } catch {
            let failure = TandemError(.limitExceeded, "the answer is too large: \(error)")
            answer(.failure(failure), to: id)
            return false
        }
    }

    /// Queues a message of an answer that a reader encoded; a position in it counts as announced.
    func answer(_ message: EncodedMessage, to id: UInt32) {
        outbound.append(message.bytes)
        _ = machine.answered(id: id, position: message.position, isLast: message.isLast)
    }

    /// Queues a push of a transaction, or of what interests this session in it.
    func push(_ body: PushBody) {
        guard let previous = machine.pushing(body.position) else { return }
        outbound.append(body, after: previous)
        pushes += 1
    }

    /// Queues a mark of how far this session was served, if it does not know yet.
    func pushProgress() {
        guard let previous = machine.pushing(sent) else { return }
        // A mark is a few bytes: it always fits a frame.
        try? queue(.progress(ProgressPush(previous: previous, position: sent)), id: 0)
    }

    /// Queues whether saves are taken.
    func push(_ state: StatePush) {
        // The reason names a file or two: it always fits a frame.
        try? queue(.state(state), id: 0)
    }

    private func queue(_ message: DaemonMessage, id: UInt32) throws(WireError) {
        try outbound.withOwn { (bytes: inout [UInt8]) throws(WireError) in
            try FrameEncoder.encode(message, id: id, into: &bytes)
        }
    }

    /// Offers the socket a run that is made for where this session stands.
    func offer(_ run: PushRun) -> WriteResult {
        let result = run.bytes.withUnsafeBytes { bytes in Result { try socket.write(bytes) } }
        guard case .success(let taken) = result else { return .closed }
        return taken
    }

    /// Notes that the socket took a run whole.
    func took(_ run: PushRun) {
        _ = machine.pushing(run.cursor)
        pushes += run.pushes
        written += UInt64(run.bytes.count)
        source.rest()
    }

    /// Takes away queued bytes that the socket has taken already.
    func drop(_ taken: Int) {
        outbound.drop(taken)
        written += UInt64(taken)
    }

    /// Writes as much as the socket takes.
    ///
    /// Returns false when the connection is gone.
    func write(through buffer: GatherBuffer) -> Bool {
        let before = outbound.count
        let outcome = outbound.write(to: socket, through: buffer)
        written += UInt64(before - outbound.count)
        isWaitingToWrite = outcome == .waits
        return outcome != .closed
    }
}

extension ClientMessage {
    var isSave: Bool { if case .save = self { true } else { false } }
}
