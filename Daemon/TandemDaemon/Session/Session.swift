import TandemIO
import TandemModel
import TandemWire

/// One connected client: a cursor over the journal, its interests, and bytes in both directions.
///
/// State:
/// - `sent`: every transaction up to here was considered for this client: pushed, or of no interest.
/// - `machine`: hello, requests in flight, and the last position that the client was told, by a push or by an answer: the
///   next push names it as its predecessor, so that the client notices a gap.
/// - `inbox`: requests that wait for the session to reach the tail; `held`: answers that wait for pushes to go first.
/// - `outbound`: bytes not yet taken by the socket, from `outboundStart` on.
final class Session {
    let id: UInt64
    let socket: any Connection
    let peer: PeerCredentials
    let unit: String
    let connectedAt: UInt64
    var decoder = ClientMessageDecoder()
    var machine: DaemonSessionStateMachine
    var isClosing = false
    var author = ""
    var interests: Set<EntityTag> = []
    var sent: UInt64 = 0
    var inbox: [(id: UInt32, message: ClientMessage)] = []
    /// The bytes received since the inbox was last empty.
    var inboundBytes = 0
    var held: [(position: UInt64, id: UInt32, message: DaemonMessage)] = []
    var syncs: [(number: UInt64, id: UInt32, deadline: UInt64)] = []
    let source: TransactionSource
    private let limits: DaemonLimits
    /// How many changes of the daemon's ability to take saves were there when it was last told.
    var toldAbility: UInt64 = 0
    private(set) var outbound: [UInt8] = []
    private var outboundStart = 0
    private(set) var isWaitingToWrite = false
    private(set) var pushes: UInt64 = 0
    private(set) var requests: UInt64 = 0

    init(
        id: UInt64, socket: any Connection, peer: PeerCredentials, unit: String, now: UInt64,
        source: TransactionSource, limits: DaemonLimits
    ) {
        self.id = id
        self.socket = socket
        self.peer = peer
        self.unit = unit
        connectedAt = now
        self.source = source
        self.limits = limits
        machine = DaemonSessionStateMachine(requestsInFlight: limits.requestsInFlight)
    }

    /// Who a save of this session is by.
    func principal(author: String?, context: String) -> Principal {
        Principal(
            author: author ?? self.author, context: context, unit: unit, uid: peer.uid,
            gid: peer.gid, pid: UInt32(bitPattern: peer.pid))
    }

    /// The bytes that wait to be written.
    var outboundBytes: Int { outbound.count - outboundStart }

    /// Whether more pushes may be queued; if not, the session stays where it is until the client reads.
    var hasRoom: Bool { outboundBytes < limits.outboundBytes }

    /// Whether hello and welcome are exchanged.
    var isReady: Bool { machine.state == .ready }

    func noteRequest() { requests += 1 }

    // MARK: Sending

    /// Queues an answer; a position in it counts as announced.
    ///
    /// An answer that is too large for the wire becomes an error.
    func answer(_ message: DaemonMessage, to id: UInt32) {
        do {
            try FrameEncoder.encode(message, id: id, into: &outbound)
            _ = machine.answered(id: id, position: message.announcedPosition)
        } catch {
            let failure = TandemError(.limitExceeded, "the answer is too large: \(error)")
            answer(.failure(failure), to: id)
        }
    }

    /// Queues a push of a transaction, or of what interests this session in it.
    func push(_ transaction: EncodedTransaction) throws(WireError) {
        guard let previous = machine.pushing(transaction.position) else { return }
        outbound += try FrameEncoder.encodeTransactionPush(
            previous: previous, transactionBytes: transaction.bytes)
        pushes += 1
    }

    /// Queues a mark of how far this session was served, if it does not know yet.
    func pushProgress() {
        guard let previous = machine.pushing(sent) else { return }
        let mark = ProgressPush(previous: previous, position: sent)
        // A mark is a few bytes: it always fits a frame.
        try? FrameEncoder.encode(DaemonMessage.progress(mark), id: 0, into: &outbound)
    }

    /// Queues whether saves are taken.
    func push(_ state: StatePush) {
        // The reason names a file or two: it always fits a frame.
        try? FrameEncoder.encode(DaemonMessage.state(state), id: 0, into: &outbound)
    }

    /// Writes as much as the socket takes.
    ///
    /// Returns false when the connection is gone.
    func write() -> Bool {
        while outboundBytes > 0 {
            let result = outbound.withUnsafeBytes { bytes in
                Result {
                    try socket.write(UnsafeRawBufferPointer(rebasing: bytes[outboundStart...]))
                }
            }
            switch result {
            case .success(.bytes(let count)): outboundStart += count
            case .success(.wouldBlock):
                isWaitingToWrite = true
                compact()
                return true
            case .success(.closed), .failure: return false
            }
        }
        outbound.removeAll(keepingCapacity: outbound.capacity <= limits.outboundBytes)
        outboundStart = 0
        isWaitingToWrite = false
        return true
    }

    private func compact() {
        guard outboundStart > 1 << 16, outboundStart > outbound.count / 2 else { return }
        outbound.removeFirst(outboundStart)
        outboundStart = 0
    }
}
