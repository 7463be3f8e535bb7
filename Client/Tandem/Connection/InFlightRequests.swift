import TandemWire

/// The requests in flight, in sending order.
///
/// Stored in an array, because there is usually only one.
struct InFlightRequests: Sendable {
    private var items: [(id: UInt32, request: PendingRequest)] = []
    /// The position of the last answer assembled from chunks since the last loss of the connection.
    private(set) var assembledAt: UInt64 = 0

    var count: Int { items.count }

    var isEmpty: Bool { items.isEmpty }

    /// Whether an answer is being assembled from chunks.
    var isAssembling: Bool {
        items.contains { $0.request.chunked != nil && !$0.request.deliveredHead }
    }

    /// The earliest deadline of all requests, or nil if there are none.
    var earliestDeadline: UInt64? {
        var earliest: UInt64?
        for item in items { earliest = min(earliest ?? .max, item.request.deadline) }
        return earliest
    }

    mutating func add(_ request: PendingRequest, id: UInt32) { items.append((id, request)) }

    /// Removes and returns the request with this id, or returns nil if there is none.
    mutating func remove(_ id: UInt32) -> PendingRequest? {
        guard let index = items.firstIndex(where: { $0.id == id }) else { return nil }
        return items.remove(at: index).request
    }

    /// Accepts the head of a chunked answer.
    ///
    /// Returns the promise to resolve with the head if the request has a chunk reader. Otherwise
    /// the answer is assembled from its chunks, and the result is nil.
    mutating func begin(_ head: FetchAnswer, _ id: UInt32) -> ReplyPromise<DaemonMessage>? {
        guard let index = items.firstIndex(where: { $0.id == id }) else { return nil }
        items[index].request.chunked = ChunkedAnswer(head)
        guard let chunkReader = items[index].request.chunkReader else { return nil }
        chunkReader.begin()
        items[index].request.deliveredHead = true
        return items[index].request.reply
    }

    /// The effect of one chunk on its answer.
    enum ChunkOutcome {
        /// More chunks follow.
        case incomplete
        /// More chunks follow, but no reader accepts them any more, so the request was cancelled.
        case abandoned
        /// The last chunk was handed to the chunk reader.
        case delivered
        /// The last chunk completed this answer.
        case assembled(FetchAnswer)
    }

    /// Adds a chunk to its answer, and extends the request's deadline.
    ///
    /// A chunk for an unknown request is ignored. Throws `storage` if the chunk does not fit an
    /// unfinished answer.
    mutating func add(
        _ part: FetchedChunk, _ id: UInt32, deadline: UInt64
    ) throws(TandemError) -> ChunkOutcome {
        guard let index = items.firstIndex(where: { $0.id == id }) else { return .incomplete }
        items[index].request.deadline = deadline
        if items[index].request.deliveredHead { return try deliver(part, at: index) }
        guard items[index].request.chunked?.append(part) ?? false else { throw Self.wrongChunk }
        guard !part.hasMore, let answer = items[index].request.chunked?.answer else {
            return .incomplete
        }
        assembledAt = answer.position
        return .assembled(answer)
    }

    private mutating func deliver(
        _ part: FetchedChunk, at index: Int
    ) throws(TandemError) -> ChunkOutcome {
        // A chunk reader takes rows or placements.
        guard part.references.isEmpty, part.values.isEmpty,
            items[index].request.chunked?.accept(part) ?? false
        else { throw Self.wrongChunk }
        let isWanted = items[index].request.chunkReader?.add(part) ?? false
        if !part.hasMore { return .delivered }
        guard !isWanted, !items[index].request.isCancelled else { return .incomplete }
        items[index].request.isCancelled = true
        return .abandoned
    }

    private static var wrongChunk: TandemError {
        TandemError(.storage, "the daemon sent a chunk that does not belong to its answer")
    }

    /// Marks a request as cancelled; its id stays in use until the daemon answers.
    ///
    /// Returns the id, or nil if the request is unknown or already cancelled.
    mutating func cancel(_ reply: ReplyPromise<DaemonMessage>) -> UInt32? {
        guard let index = items.firstIndex(where: { $0.request.reply === reply }),
            !items[index].request.isCancelled
        else { return nil }
        items[index].request.isCancelled = true
        return items[index].id
    }

    /// Removes and returns the requests that satisfy a predicate.
    mutating func removeAll(where matches: (PendingRequest) -> Bool) -> [PendingRequest] {
        guard items.contains(where: { matches($0.request) }) else { return [] }
        let found = items.map(\.request).filter(matches)
        items.removeAll { matches($0.request) }
        return found
    }

    /// Removes and returns all requests.
    mutating func removeAll() -> [PendingRequest] {
        defer { self = InFlightRequests() }
        return items.map(\.request)
    }
}
