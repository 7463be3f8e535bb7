import DequeModule
import TandemModel
import TandemWire

/// The requests of a session that wait for their turn.
///
/// Chunks of batch inserts wait in a queue of their own; requests that arrive after them may be
/// handled first.
struct RequestQueue {
    /// A queued request.
    struct Waiting {
        let id: UInt32
        let message: ClientMessage
        let bytes: Int
        /// The arrival time of its last bytes.
        let arrival: UInt64
    }

    /// The requests except chunks of batch inserts, in order of arrival.
    private(set) var waiting: [Waiting] = []
    private var insertChunks: Deque<Waiting> = []
    /// The size of the queued requests and of the batch-insert chunks, in bytes.
    private(set) var bytes = 0
    /// The number of queued saves.
    private(set) var saves = 0
    /// The arrival time of the last bytes.
    private var arrival: UInt64 = 0

    /// Whether chunks of batch inserts wait.
    var hasInsertChunks: Bool { !insertChunks.isEmpty }

    /// Records the arrival time of received bytes, and so of the requests that they complete.
    mutating func recordArrival(at time: UInt64) { arrival = time }

    /// Adds a request.
    mutating func append(_ envelope: Envelope<ClientMessage>, bytes: Int) {
        let request = Waiting(
            id: envelope.id, message: envelope.message, bytes: bytes, arrival: arrival)
        self.bytes += bytes
        if case .insert = envelope.message { return insertChunks.append(request) }
        waiting.append(request)
        if envelope.message.isSave { saves += 1 }
    }

    /// Removes and returns the first request that is not a chunk of a batch insert.
    mutating func popFirst() -> Waiting { remove(at: 0) }

    /// Removes and returns the first save.
    mutating func popSave() -> Waiting? {
        guard saves > 0, let index = waiting.firstIndex(where: { $0.message.isSave }) else {
            return nil
        }
        return remove(at: index)
    }

    /// Removes and returns the first chunk of a batch insert.
    mutating func popInsertChunk() -> (insert: BatchInsert, id: UInt32)? {
        guard let first = insertChunks.first, case .insert(let insert) = first.message else {
            return nil
        }
        insertChunks.removeFirst()
        bytes -= first.bytes
        assert(bytes >= 0, "Only queued bytes are subtracted.")
        return (insert, first.id)
    }

    /// Removes a request that its client cancelled; returns false if it is not queued.
    mutating func cancel(request id: UInt32) -> Bool {
        guard let index = waiting.firstIndex(where: { $0.id == id && $0.message.isReadOnly })
        else { return false }
        _ = remove(at: index)
        return true
    }

    /// The ids of the requests that can be cancelled.
    var cancellableIDs: [UInt32] { waiting.filter { $0.message.isReadOnly }.map(\.id) }

    private mutating func remove(at index: Int) -> Waiting {
        let request = waiting.remove(at: index)
        bytes -= request.bytes
        if request.message.isSave { saves -= 1 }
        assert(bytes >= 0 && saves >= 0, "Only queued requests are subtracted.")
        return request
    }
}
