import DequeModule
import TandemIO
import TandemWire

/// The output of a session: the bytes that its socket has not accepted yet, held answers, and
/// counters.
struct SessionOutput {
    private var queue = OutboundQueue()
    /// Whether the socket was full at the last write.
    private(set) var isWaitingToWrite = false
    /// The number of pushes.
    private(set) var pushes: UInt64 = 0
    /// The number of bytes that the socket has accepted.
    private(set) var written: UInt64 = 0
    /// The answers that must follow pushes still to be queued.
    private(set) var held: Deque<(position: UInt64, id: UInt32, message: DaemonMessage)> = []
    /// The socket events for which the poller watches.
    private(set) var watched = Interest.read
    /// Whether the queue was at its limit after the last write.
    private(set) var wasOverfull = false
    /// The last time at which the socket had accepted all chunks of an answer sent so far.
    private(set) var acceptedAt: UInt64 = 0

    /// The number of queued bytes; those of pushes are shared with other sessions.
    var bytes: Int { queue.count }

    /// Queues a message; throws if it is too large for the wire.
    mutating func append(_ message: DaemonMessage, id: UInt32) throws(WireError) {
        try queue.withOwn { (bytes: inout [UInt8]) throws(WireError) in
            try FrameEncoder.encode(message, id: id, into: &bytes)
        }
    }

    /// Queues complete messages.
    mutating func append(_ messages: [UInt8]) { queue.append(messages) }

    /// Holds an answer until the pushes up to a position are queued.
    mutating func hold(_ message: DaemonMessage, id: UInt32, until position: UInt64) {
        held.append((position, id, message))
    }

    /// Removes and returns the first held answer, if it needs no pushes after a position.
    mutating func popHeld(upTo position: UInt64) -> (id: UInt32, message: DaemonMessage)? {
        guard let first = held.first, first.position <= position else { return nil }
        held.removeFirst()
        return (first.id, first.message)
    }

    /// Queues a push with its predecessor's position.
    mutating func append(_ body: PushBody, after previous: UInt64) {
        queue.append(body, after: previous)
        pushes += 1
    }

    /// Counts a shared push batch that the socket accepted without queueing.
    mutating func didSend(_ batch: SharedPushBatch) {
        assert(bytes == 0, "A shared batch must not overtake queued bytes.")
        pushes += batch.pushes
        written += UInt64(batch.bytes.count)
    }

    /// Removes queued bytes that the socket has already accepted.
    mutating func drop(_ taken: Int) {
        queue.drop(taken)
        written += UInt64(taken)
    }

    /// Writes as much as a socket accepts; returns false if the connection is closed.
    mutating func write(to socket: any ClientChannel, through buffer: CoalescingBuffer) -> Bool {
        let before = queue.count
        let outcome = queue.write(to: socket, through: buffer)
        assert(queue.count <= before, "Writing adds no bytes.")
        written += UInt64(before - queue.count)
        isWaitingToWrite = outcome == .waits
        return outcome != .closed
    }

    // MARK: Socket

    /// Records whether the queue is at its limit; returns whether it has just reached it.
    mutating func didReachLimit(_ isOverfull: Bool) -> Bool {
        defer { wasOverfull = isOverfull }
        return isOverfull && !wasOverfull
    }

    /// Records that the socket has accepted all chunks of an answer sent so far.
    mutating func recordAccepted(at time: UInt64) {
        assert(time >= acceptedAt, "The monotonic clock never goes backwards.")
        acceptedAt = time
    }

    /// Records the socket events for which the poller watches.
    mutating func watch(_ interest: Interest) {
        assert(interest != watched, "The poller is updated only if the events have changed.")
        watched = interest
    }
}
