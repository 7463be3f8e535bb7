import TandemIO
import TandemWire

/// The outbound queue of a socket: a session's own bytes, and references to shared push bodies.
///
/// `own` holds short answers and the heads of pushes, in order. Each of `bodies` is sent after
/// `own` has been sent up to the body's `offset`. Bodies are never copied into the queue: sessions
/// with the same push share one copy.
struct OutboundQueue {
    private struct Body {
        let offset: Int
        let bytes: [UInt8]
    }

    /// The result of a write.
    enum Outcome {
        /// All bytes were accepted.
        case done
        /// The socket is full.
        case waits
        /// The peer has closed the connection.
        case closed
    }

    private var own: [UInt8] = []
    private var ownStart = 0
    private var bodies: [Body] = []
    private var firstBody = 0
    /// The number of bytes of the first body that were sent.
    private var bodyStart = 0
    private var bodyBytes = 0

    /// The number of queued bytes, including bodies.
    var count: Int { own.count - ownStart + bodyBytes }

    // MARK: Queueing

    /// Passes the buffer of this session's own bytes to `append`.
    mutating func withOwn<Failure: Error>(
        _ append: (inout [UInt8]) throws(Failure) -> Void
    ) throws(Failure) { try append(&own) }

    /// Appends a push with its predecessor's position.
    mutating func append(_ body: PushBody, after previous: UInt64) {
        body.appendHead(previous: previous, to: &own)
        bodies.append(Body(offset: own.count, bytes: body.bytes))
        bodyBytes += body.bytes.count
    }

    /// Appends complete messages without copying them.
    mutating func append(_ messages: [UInt8]) {
        bodies.append(Body(offset: own.count, bytes: messages))
        bodyBytes += messages.count
    }

    // MARK: Writing

    /// Writes as much as the socket accepts; short runs are coalesced in `buffer`, long ones are
    /// not copied.
    mutating func write(to socket: any ClientChannel, through buffer: CoalescingBuffer) -> Outcome {
        while count > 0 {
            let result = Result { try offer(to: socket, buffer) }
            switch result {
            case .success(.bytes(let taken)): drop(taken)
            case .success(.wouldBlock):
                compact()
                return .waits
            case .success(.closed), .failure: return .closed
            }
        }
        reset()
        return .done
    }

    private func offer(
        to socket: any ClientChannel, _ buffer: CoalescingBuffer
    ) throws -> WriteResult {
        let gathered = gather(into: buffer.bytes)
        if gathered > 0 {
            return try socket.write(UnsafeRawBufferPointer(rebasing: buffer.bytes[..<gathered]))
        }
        let (bytes, range) = nextRun
        return try bytes.withUnsafeBytes {
            try socket.write(UnsafeRawBufferPointer(rebasing: $0[range]))
        }
    }

    /// The next contiguous bytes to send.
    private var nextRun: (bytes: [UInt8], range: Range<Int>) {
        guard firstBody < bodies.count else { return (own, ownStart..<own.count) }
        let body = bodies[firstBody]
        guard ownStart == body.offset else { return (own, ownStart..<body.offset) }
        return (body.bytes, bodyStart..<body.bytes.count)
    }

    /// Copies runs up to the first long one, or until the buffer is full; returns the bytes copied.
    private func gather(into buffer: UnsafeMutableRawBufferPointer) -> Int {
        var (at, ownAt, bodyAt, index) = (0, ownStart, bodyStart, firstBody)
        func copy(_ bytes: [UInt8], _ range: Range<Int>) -> Bool {
            guard range.count <= CoalescingBuffer.longRun, range.count <= buffer.count - at else {
                return false
            }
            bytes.withUnsafeBytes {
                UnsafeMutableRawBufferPointer(rebasing: buffer[at..<(at + range.count)])
                    .copyMemory(from: UnsafeRawBufferPointer(rebasing: $0[range]))
            }
            at += range.count
            return true
        }
        while index < bodies.count {
            let body = bodies[index]
            guard copy(own, ownAt..<body.offset) else { return at }
            ownAt = body.offset
            guard copy(body.bytes, bodyAt..<body.bytes.count) else { return at }
            bodyAt = 0
            index += 1
        }
        _ = copy(own, ownAt..<own.count)
        return at
    }

    /// Removes bytes that were sent.
    mutating func drop(_ taken: Int) {
        var rest = taken
        while rest > 0 {
            let limit = firstBody < bodies.count ? bodies[firstBody].offset : own.count
            let fromOwn = min(rest, limit - ownStart)
            ownStart += fromOwn
            rest -= fromOwn
            guard rest > 0, firstBody < bodies.count else { continue }
            let length = bodies[firstBody].bytes.count
            let fromBody = min(rest, length - bodyStart)
            bodyStart += fromBody
            bodyBytes -= fromBody
            rest -= fromBody
            if bodyStart == length {
                firstBody += 1
                bodyStart = 0
            }
        }
    }

    private mutating func reset() {
        own.removeAll(keepingCapacity: own.capacity <= Self.keptBytes)
        bodies.removeAll(keepingCapacity: bodies.capacity <= Self.keptBodies)
        (ownStart, firstBody, bodyStart) = (0, 0, 0)
    }

    /// Releases sent bodies, and sent bytes of `own` if they are more than half of it.
    private mutating func compact() {
        bodies.removeFirst(firstBody)
        firstBody = 0
        guard ownStart > own.count / 2 else { return }
        let start = ownStart
        own = Array(own[start...])
        bodies = bodies.map { Body(offset: $0.offset - start, bytes: $0.bytes) }
        ownStart = 0
    }

    private static let keptBytes = 4 << 10
    private static let keptBodies = 64
}

/// A buffer that coalesces small pieces into one write; one buffer serves all sessions of a thread.
///
/// Copying a few hundred bytes costs less than another element in a vectored write.
final class CoalescingBuffer {
    /// The length up to which bytes are coalesced; longer runs are written without a copy.
    static let longRun = 16 << 10
    let bytes = UnsafeMutableRawBufferPointer.allocate(byteCount: 64 << 10, alignment: 16)

    deinit { bytes.deallocate() }
}
