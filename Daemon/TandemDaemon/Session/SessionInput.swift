import TandemModel
import TandemWire

/// The input of a session: received bytes of an incomplete message, and requests that wait.
struct SessionInput {
    private var decoder = ClientMessageDecoder()
    /// The requests that wait for their turn, or for the session to become current.
    private(set) var queue = RequestQueue()
    /// The size and the arrival time of the request most recently removed from the queue.
    private(set) var lastPopped: (bytes: Int, arrival: UInt64) = (0, 0)
    /// The number of received messages.
    private(set) var messages: UInt64 = 0
    /// The size of an incomplete message, as counted by ``UnfinishedMessages``.
    private(set) var unfinishedBytes = 0
    /// The arrival time of that message's first bytes; nil if there is none.
    private(set) var unfinishedSince: UInt64?
    /// Whether a rejected save is still to be answered after the flush; the socket is not read
    /// until then.
    private(set) var awaitsRefusal = false

    // MARK: Decoding

    /// The number of received bytes that are not decoded yet.
    var bufferedBytes: Int { decoder.bufferedBytes }

    /// Whether no message is incomplete.
    var isAtBoundary: Bool { decoder.isAtBoundary }

    /// The type and id of a message of several frames that is incomplete; nil if there is none.
    var unfinished: (type: UInt8, id: UInt32)? { decoder.unfinished }

    /// Changes the maximum sizes of a frame and of a message.
    mutating func bound(frameBytes: Int, messageBytes: Int) {
        decoder.frameBytes = frameBytes
        decoder.messageBytes = messageBytes
    }

    /// Adds received bytes with their arrival time.
    mutating func append(_ bytes: UnsafeRawBufferPointer, at time: UInt64) {
        decoder.append(bytes)
        queue.recordArrival(at: time)
    }

    /// Decodes and returns the next message with its size, or nil if no message is complete.
    mutating func next() throws(WireError) -> (envelope: Envelope<ClientMessage>, bytes: Int)? {
        let before = decoder.bufferedBytes
        guard let envelope = try decoder.next() else { return nil }
        let left = decoder.bufferedBytes
        assert(left <= before, "A message is decoded from buffered bytes.")
        messages += 1
        return (envelope, before - left)
    }

    /// Skips the rest of an incomplete message.
    mutating func skipMessage() {
        decoder.skipMessage()
        messages += 1
    }

    // MARK: Incomplete messages

    /// Records that an incomplete message began.
    mutating func beginUnfinished(at time: UInt64) {
        assert(!isAtBoundary, "The rest of an incomplete message is still to arrive.")
        unfinishedSince = time
    }

    /// Records that no message is incomplete.
    mutating func endUnfinished() { unfinishedSince = nil }

    /// Counts the bytes of the incomplete message; returns the number counted before.
    mutating func countUnfinished() -> Int {
        defer { unfinishedBytes = decoder.bufferedBytes }
        return unfinishedBytes
    }

    /// Stops counting the incomplete message; returns the number of bytes counted before.
    mutating func stopCounting() -> Int {
        defer { (unfinishedBytes, unfinishedSince) = (0, nil) }
        return unfinishedBytes
    }

    // MARK: Requests

    /// Queues a request.
    mutating func enqueue(_ envelope: Envelope<ClientMessage>, bytes: Int) {
        queue.append(envelope, bytes: bytes)
    }

    /// Removes and returns the first queued save.
    mutating func popSave() -> (id: UInt32, request: SaveRequest, arrival: UInt64)? {
        guard let first = queue.popSave(), case .save(let request) = first.message else {
            return nil
        }
        return (first.id, request, first.arrival)
    }

    /// Removes and returns the first chunk of a batch insert.
    mutating func popInsertChunk() -> (insert: BatchInsert, id: UInt32)? { queue.popInsertChunk() }

    /// Removes and returns the first request.
    mutating func popRequest() -> (id: UInt32, message: ClientMessage) {
        let first = queue.popFirst()
        lastPopped = (first.bytes, first.arrival)
        return (first.id, first.message)
    }

    /// Removes a request that its client cancelled; returns false if it is not queued.
    mutating func cancel(request id: UInt32) -> Bool { queue.cancel(request: id) }

    // MARK: Rejected saves

    /// Records that a save was rejected; it is answered after the flush.
    mutating func awaitRefusal() { awaitsRefusal = true }

    /// Records that the rejected saves were answered.
    mutating func didRefuse() { awaitsRefusal = false }
}
