import DequeModule
import TandemIO
import TandemModel
import TandemWire

/// Hands the chunks of an answer to a consumer as they arrive, so that the consumer need not wait
/// for the last chunk.
///
/// A caller passes a chunk reader with its request. The caller receives the answer's head like any
/// answer, and the chunks from the reader: rows, or placements of a list's objects. The thread that
/// reads the socket adds the chunks. A released reader accepts no chunks. An answer that arrives in
/// one message does not use the reader.
final class ChunkReader: Sendable {
    private struct Guarded {
        /// The chunks that have arrived but have not been consumed.
        var chunks: Deque<FetchedChunk> = []
        /// Whether more chunks will arrive and are wanted: a chunked answer has begun, and it was
        /// neither completed nor discarded.
        var isOpen = false
        /// The error that ended the answer early.
        var error: TandemError?
        /// Whether the error was the loss of the connection.
        var isLost = false
        /// The promise awaited by the consumer of the next chunk.
        var waiter: ReplyPromise<Void>?

        /// Removes and returns the awaited promise.
        mutating func removeWaiter() -> ReplyPromise<Void>? {
            defer { waiter = nil }
            return waiter
        }
    }

    private let guarded = Locked(Guarded())

    /// The result of a request for the next chunk.
    enum Next {
        case part(FetchedChunk)
        case end
        case wait(ReplyPromise<Void>)
    }

    // MARK: Adding chunks

    /// Accepts the head of a chunked answer.
    func begin() { guarded.withLock { $0.isOpen = true } }

    /// Adds the next chunk of the answer; returns false if the answer was discarded.
    func add(_ part: FetchedChunk) -> Bool {
        let (waiter, isWanted) = guarded.withLock { guarded -> (ReplyPromise<Void>?, Bool) in
            guard guarded.isOpen else { return (nil, false) }
            guarded.chunks.append(part)
            guarded.isOpen = part.hasMore
            return (guarded.removeWaiter(), true)
        }
        waiter?.resolve(.success(()))
        return isWanted
    }

    /// Ends the answer with an error; after the loss of the connection the consumer may repeat the
    /// request.
    func breakOff(_ error: TandemError, isLost: Bool = false) {
        let waiter = guarded.withLock { guarded -> ReplyPromise<Void>? in
            guard guarded.isOpen else { return nil }
            (guarded.error, guarded.isLost) = (error, isLost)
            return guarded.removeWaiter()
        }
        waiter?.resolve(.failure(error))
    }

    // MARK: Taking chunks

    /// Discards the rest of the answer.
    func discard() { guarded.withLock { ($0.isOpen, $0.chunks) = (false, []) } }

    /// Whether the connection was lost before the last chunk arrived.
    var isLost: Bool { guarded.withLock { $0.isLost } }

    /// Returns the next chunk, the end, or a promise to wait for.
    ///
    /// Throws the error that ended the answer early.
    func next() throws(TandemError) -> Next {
        try guarded.withLock { guarded throws(TandemError) in
            if let error = guarded.error { throw error }
            if !guarded.chunks.isEmpty { return .part(guarded.chunks.removeFirst()) }
            guard guarded.isOpen else { return .end }
            let waiter = ReplyPromise<Void>()
            guarded.waiter = waiter
            return .wait(waiter)
        }
    }
}
