import TandemIO
import TandemModel
import TandemWire

/// One connected client: a cursor over the journal, its interests, and bytes in both directions.
///
/// A session consists of values with one purpose each. State that must be consistent between them
/// is changed only by the session; other parts of the daemon change `input`, `syncs` and `pins`
/// directly.
///
/// State:
/// - `client`: the process at the other end, its role, and the contents of its hello.
/// - `subscription`: the group of the session, and the position up to which every transaction has
///   been considered for its client, whether pushed or irrelevant.
/// - `machine`: the hello, the requests in flight, and the last position announced to the client by
///   a push or an answer. The next push names that position as its predecessor, so that the client
///   notices a gap.
/// - `input`: received bytes, and requests that wait for their turn.
/// - `output`: the bytes that the socket has not accepted yet, and answers that must follow pushes
///   still to be queued.
/// - `syncs`, `pins`: requests that wait for positions, and positions that the journal keeps for
///   the client.
/// - `read`: the running read; later requests wait for it.
final class Session {
    /// The engine's queues that contain a session.
    struct Marks: OptionSet {
        let rawValue: UInt8
        static let saves = Marks(rawValue: 1)
        static let requests = Marks(rawValue: 2)
        static let pushes = Marks(rawValue: 4)
        static let reads = Marks(rawValue: 8)
        static let insertChunks = Marks(rawValue: 16)
    }

    private(set) var client: ClientIdentity
    let socket: any ClientChannel
    var input = SessionInput()
    private(set) var machine: DaemonSessionStateMachine
    /// Whether the connection has ended.
    private(set) var isClosing = false
    private(set) var subscription: Subscription
    /// The queues that contain the session.
    private(set) var marks: Marks = []
    /// The adaptive number of rows per transaction of a batch insert.
    var batchSize = AdaptiveBatchSize()
    var syncs = WaitingSyncs()
    private(set) var read: PendingRead?
    /// The source of the transactions that the running read needs.
    let readSource: TransactionSource
    var pins = PinLeases()
    private let committer: Committer
    private(set) var output = SessionOutput()

    init(of client: ClientIdentity, on socket: any ClientChannel, committer: Committer) {
        (self.client, self.socket, self.committer) = (client, socket, committer)
        subscription = Subscription(TransactionSource(committer.journal))
        readSource = TransactionSource(committer.journal)
        machine = DaemonSessionStateMachine(requestsInFlight: committer.limits.requestsInFlight)
    }

    // MARK: Client

    var id: UInt64 { client.id }
    var peer: PeerCredentials { client.peer }

    /// Replaces the role of the client.
    func assign(_ role: Role) { client.assign(role) }

    /// Records the author that the client's hello names.
    func introduce(author: String) { client.introduce(author: author) }

    /// Records the model that the client's hello declares.
    func declare(model hash: StableHash) { client.declare(model: hash) }

    // MARK: Connection

    /// Records that a hello arrived.
    func received(_ hello: Hello) -> DaemonSessionStateMachine.HelloAction {
        machine.received(hello)
    }

    /// Records that the welcome is queued.
    func didWelcome() {
        _ = machine.welcomed(cursor: sent)
        assert(isReady, "A welcomed session is ready.")
    }

    /// Records that the time limit for the hello has passed.
    func helloTimedOut() -> DaemonSessionStateMachine.TimeoutAction { machine.helloTimedOut() }

    /// Records that a request arrived.
    func received(request id: UInt32) -> DaemonSessionStateMachine.RequestAction {
        machine.received(request: id)
    }

    /// Records that the connection has ended.
    func close() {
        assert(!isClosing, "A connection ends once.")
        isClosing = true
    }

    // MARK: Subscription

    /// The sessions with the same interests, including this one; nil before the hello.
    var group: SubscriberGroup? { subscription.group }

    /// The last position considered for this client; nil while the session is current.
    var lagPosition: UInt64? { subscription.lagPosition }

    /// Records that the session is a member of a group.
    func join(_ group: SubscriberGroup) { subscription.join(group) }

    /// Records that the session is a member of no group.
    func leaveGroup() { subscription.leaveGroup() }

    /// Begins pushes after the position from which the client resumes; at the tail if that is nil.
    func begin(after position: UInt64?) { subscription.begin(after: position) }

    /// Records that transactions after a position are still to be considered.
    func lag(after position: UInt64) { subscription.lag(after: position) }

    /// Records that the next transaction has been considered.
    func advance(to position: UInt64) { subscription.advance(to: position) }

    /// Records that every transaction up to the tail has been considered.
    func reachTail() { subscription.reachTail() }

    /// Records that the client is to be sent a progress mark.
    func requestProgressMark() { subscription.requestProgressMark() }

    /// Records that the client was sent the read-only state, which has changed `changes` times.
    func didSend(state changes: UInt64) { subscription.didSend(state: changes) }

    /// The position up to which every transaction has been considered for this client.
    var sent: UInt64 { lagPosition ?? committer.position }

    /// The position after which the session needs every transaction, for pushes or for its running
    /// read.
    var needed: UInt64 { min(sent, read?.retained ?? .max) }

    /// The entities that the client subscribes to.
    var interests: Set<EntityTag> { group?.interests ?? [] }

    // MARK: State

    /// The size of the queued requests and of the batch-insert chunks, in bytes.
    var inboundBytes: Int { input.queue.bytes }

    /// The number of queued saves; the socket is not read while there are any.
    var waitingSaves: Int { input.queue.saves }

    /// Whether the socket was full at the last write.
    var isWaitingToWrite: Bool { output.isWaitingToWrite }

    /// The number of bytes in the outbound queue; those of pushes are shared with other sessions.
    var outboundBytes: Int { output.bytes }

    /// Whether the outbound queue has reached its limit.
    var isOverfull: Bool { outboundBytes >= committer.limits.outboundBytes }

    /// Whether more may be queued; if not, the session waits until the client reads.
    var hasRoom: Bool { !isWaitingToWrite && !isOverfull }

    /// Whether saves wait and there is room for their answers.
    ///
    /// Bytes that the client sends after these saves stay in the socket until then.
    var hasSave: Bool { isReady && waitingSaves > 0 && !isOverfull }

    /// Whether chunks of batch inserts wait and there is room for their answers.
    var hasInsertChunks: Bool { isReady && input.queue.hasInsertChunks && !isOverfull }

    /// The socket events for which the poller should watch.
    var wants: Interest {
        let waits = read != nil || input.queue.hasInsertChunks
        let isBusy = waits && inboundBytes > committer.limits.inboundBytes
        let reads: Interest = isBusy || (waitingSaves > 0 && isOverfull) ? [] : .read
        return isWaitingToWrite ? reads.union(.write) : reads
    }

    /// Whether hello and welcome have been exchanged.
    var isReady: Bool { machine.state == .ready }

    // MARK: Queues

    /// Records that a queue contains the session.
    func enter(_ mark: Marks) {
        assert(marks.isDisjoint(with: mark), "A queue contains a session at most once.")
        marks.insert(mark)
    }

    /// Records that a queue no longer contains the session.
    func leave(_ mark: Marks) {
        assert(marks.contains(mark), "A session in the queue has the mark of the queue.")
        marks.remove(mark)
    }

    // MARK: Requests

    /// Whether the first request can be answered now.
    ///
    /// After the hello, this is false for a save, which waits for a batch.
    var hasRequest: Bool {
        guard let first = input.queue.waiting.first, read == nil else { return false }
        return !isReady || (!first.message.isSave && canBeAnswered)
    }

    /// Whether the session is current and has room for an answer.
    var canBeAnswered: Bool { lagPosition == nil && hasRoom }

    /// Whether a part of the answer to the running read can be sent.
    var hasAnswer: Bool {
        guard let job = read?.job, hasRoom else { return false }
        return job.hasMessages || job.hasFailed
    }

    /// Removes and returns the first queued request, if it can be answered.
    func dequeueRequest() -> (id: UInt32, message: ClientMessage)? {
        guard hasRequest else { return nil }
        return input.popRequest()
    }

    /// The ids of the unanswered requests that can be cancelled, the running one first.
    var cancellableIDs: [UInt32] {
        [read?.id].compactMap(\.self) + input.queue.cancellableIDs + syncs.waiting.map(\.id)
    }

    /// Records the read that was begun for a request.
    func begin(_ read: PendingRead) {
        assert(self.read == nil && read.session === self, "A session has one running read.")
        self.read = read
    }

    /// Removes and returns the running read.
    func endRead() -> PendingRead? {
        defer { read = nil }
        return read
    }

    // MARK: Sending

    /// Queues an answer; a position in the answer counts as announced.
    ///
    /// If the answer is too large for the wire, an error is queued in its place, and the result is
    /// false. The caller must then send no more chunks of the answer.
    @discardableResult
    func answer(_ message: DaemonMessage, to id: UInt32) -> Bool {
        do {
            try output.append(message, id: id)
            _ = machine.answered(
                id: id, position: message.announcedPosition, isLast: message.isLastOfAnswer)
            return true
        } catch {
            let failure = TandemError(.limitExceeded, "the answer is too large: \(error)")
            answer(.failure(failure), to: id)
            return false
        }
    }

    /// Queues an answer, or holds it until the pushes up to a position are queued.
    func answer(_ message: DaemonMessage, to id: UInt32, heldUntil position: UInt64) {
        if sent >= position {
            answer(message, to: id)
        } else {
            output.hold(message, id: id, until: position)
        }
    }

    /// Queues the held answers whose pushes are queued.
    func answerHeld() {
        while let first = output.popHeld(upTo: sent) { answer(first.message, to: first.id) }
    }

    /// Queues a message of an answer that a reader encoded; its position counts as announced.
    func answer(_ message: EncodedMessage, to id: UInt32) {
        output.append(message.bytes)
        _ = machine.answered(id: id, position: message.position, isLast: message.isLast)
    }

    /// Queues a push of a transaction, or of the part of it that matches the session's interests.
    func push(_ body: PushBody) {
        guard let previous = machine.pushing(body.position) else { return }
        output.append(body, after: previous)
    }

    /// Queues a requested progress mark, unless the client already knows the position.
    func pushProgress() {
        guard subscription.consumeProgressMark(), let previous = machine.pushing(sent) else {
            return
        }
        // A mark is a few bytes, so it always fits a frame.
        try? output.append(.progress(ProgressPush(previous: previous, position: sent)), id: 0)
    }

    /// Queues a message with the read-only state.
    func push(_ state: StatePush) {
        // The reason names a file or two, so it always fits a frame.
        try? output.append(.state(state), id: 0)
    }

    /// Writes a shared push batch made for this session's cursor to the socket.
    func offer(_ batch: SharedPushBatch) -> WriteResult {
        let result = batch.bytes.withUnsafeBytes { bytes in Result { try socket.write(bytes) } }
        guard case .success(let taken) = result else { return .closed }
        return taken
    }

    /// Records that the socket accepted a complete shared push batch.
    func didSend(_ batch: SharedPushBatch) {
        _ = machine.pushing(batch.cursor)
        output.didSend(batch)
        subscription.source.rest()
    }

    /// Removes queued bytes that the socket has already accepted.
    func drop(_ taken: Int) { output.drop(taken) }

    /// Writes as much as the socket accepts.
    ///
    /// Returns false if the connection is closed.
    func write(through buffer: CoalescingBuffer) -> Bool {
        output.write(to: socket, through: buffer)
    }

    /// Returns whether the outbound queue has reached its limit since the previous call.
    func didReachLimit() -> Bool { output.didReachLimit(isOverfull) }

    /// Records that the socket has accepted all chunks of an answer sent so far.
    func recordAccepted(at time: UInt64) { output.recordAccepted(at: time) }

    /// Returns the socket events for which the poller should watch, or nil if they are unchanged.
    func updateWatched() -> Interest? {
        let interest = wants
        guard interest != output.watched else { return nil }
        output.watch(interest)
        return interest
    }
}

extension ClientMessage {
    var isSave: Bool { if case .save = self { true } else { false } }
}
