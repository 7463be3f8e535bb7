import DequeModule
import TandemIO
import TandemModel
import TandemQuery
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
        /// The number of objects that have not arrived yet; nil if no chunked answer has begun or
        /// the answer was discarded.
        var left: Int?
        /// The head of a list answer, which limits what the placements in its chunks may refer to;
        /// nil if the chunks contain rows.
        var places: ListPlacements?
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

        /// Whether a chunk has the kind of content that the answer announced.
        func fits(_ part: FetchedChunk) -> Bool {
            guard let places else { return part.count == part.objects.count }
            guard let more = part.places else { return false }
            return part.count == more.count && places.accepts(more)
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
    func begin(_ head: FetchAnswer) {
        guarded.withLock {
            $0.left = Int(clamping: head.count) - head.bodyCount
            $0.places = head.places
        }
    }

    /// Adds a chunk; returns false if the answer was discarded.
    ///
    /// Throws `storage` if the chunk has the wrong kind of content, or if it has more or fewer
    /// objects than the head announced.
    func add(_ part: FetchedChunk) throws(TandemError) -> Bool {
        let (waiter, isWanted) = try guarded.withLock {
            guarded throws(TandemError) -> (ReplyPromise<Void>?, Bool) in
            guard let left = guarded.left else { return (nil, false) }
            let rest = left - part.count
            guard part.count > 0, rest >= 0, part.hasMore == (rest > 0), guarded.fits(part) else {
                throw TandemError.unexpectedAnswer("the number of objects")
            }
            guarded.chunks.append(part)
            guarded.left = rest
            return (guarded.removeWaiter(), true)
        }
        waiter?.resolve(.success(()))
        return isWanted
    }

    /// Ends the answer with an error; after the loss of the connection the consumer may repeat the
    /// request.
    func breakOff(_ error: TandemError, isLost: Bool = false) {
        let waiter = guarded.withLock { guarded -> ReplyPromise<Void>? in
            guard let left = guarded.left, left > 0 else { return nil }
            (guarded.error, guarded.isLost) = (error, isLost)
            return guarded.removeWaiter()
        }
        waiter?.resolve(.failure(error))
    }

    // MARK: Taking chunks

    /// Discards the rest of the answer.
    func discard() { guarded.withLock { ($0.left, $0.chunks) = (nil, []) } }

    /// Whether the connection was lost before the last chunk arrived.
    var isLost: Bool { guarded.withLock { $0.isLost } }

    /// Returns the next chunk, the end, or a promise to wait for.
    ///
    /// Throws the error that ended the answer early.
    func next() throws(TandemError) -> Next {
        try guarded.withLock { guarded throws(TandemError) in
            if let error = guarded.error { throw error }
            if !guarded.chunks.isEmpty { return .part(guarded.chunks.removeFirst()) }
            guard let left = guarded.left, left > 0 else { return .end }
            let waiter = ReplyPromise<Void>()
            guarded.waiter = waiter
            return .wait(waiter)
        }
    }
}
