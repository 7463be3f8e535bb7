import TandemIO
import TandemWire

/// What waits for a socket: a session's own bytes, and references to bodies of pushes between them.
///
/// `own` has short answers and heads of pushes in their order; each of `bodies` goes out when `own` has gone out up to its `offset`.
/// A body is never copied to wait here: a hundred sessions that stand at the same push hold it once.
struct Outbound {
    private struct Body {
        let offset: Int
        let bytes: [UInt8]
    }

    /// What came of writing.
    enum Outcome {
        /// Everything was taken.
        case done
        /// The socket is full.
        case waits
        /// The other side is gone.
        case closed
    }

    private var own: [UInt8] = []
    private var ownStart = 0
    private var bodies: [Body] = []
    private var firstBody = 0
    /// So many bytes of the first body have gone out.
    private var bodyStart = 0
    private var bodyBytes = 0

    /// The bytes that wait, bodies included.
    var count: Int { own.count - ownStart + bodyBytes }

    // MARK: Queueing

    /// Lets a caller append bytes of this session alone.
    mutating func withOwn<Failure: Error>(
        _ append: (inout [UInt8]) throws(Failure) -> Void
    ) throws(Failure) { try append(&own) }

    /// Appends a push behind a predecessor.
    mutating func append(_ body: PushBody, after previous: UInt64) {
        body.appendHead(previous: previous, to: &own)
        bodies.append(Body(offset: own.count, bytes: body.bytes))
        bodyBytes += body.bytes.count
    }

    /// Appends whole messages, which are not copied.
    mutating func append(_ messages: [UInt8]) {
        bodies.append(Body(offset: own.count, bytes: messages))
        bodyBytes += messages.count
    }

    // MARK: Writing

    /// Writes as much as the socket takes, gathered in `buffer`; what is long goes out from where it is.
    mutating func write(to socket: any Connection, through buffer: GatherBuffer) -> Outcome {
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
        to socket: any Connection, _ buffer: GatherBuffer
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

    /// What goes out next from one place.
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
            guard range.count <= GatherBuffer.longRun, range.count <= buffer.count - at else {
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

    /// Takes away bytes that went out.
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

    /// A session that has to wait keeps no body that went out, and of its own bytes at most as many as are to come.
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

/// Where what goes to a socket is put together; one for all sessions of a thread.
///
/// Copying a few hundred bytes costs less than the kernel's look at another vector.
final class GatherBuffer {
    /// Longer runs are written from where they are.
    static let longRun = 16 << 10
    let bytes = UnsafeMutableRawBufferPointer.allocate(byteCount: 64 << 10, alignment: 16)

    deinit { bytes.deallocate() }
}
