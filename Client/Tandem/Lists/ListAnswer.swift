import TandemModel
import TandemWire

/// The complete answer to a participant's fetch: rows, or the placements of a list's objects.
struct ListAnswer {
    /// The answer; it does not include the placements.
    private(set) var answer: FetchAnswer
    /// The placements of the objects, if a long list was requested without rows.
    private(set) var placements: ReceivedPlacements?

    /// Creates a list from a complete answer, or from the head of a chunked answer.
    init(_ answer: FetchAnswer, of fetch: Fetch) {
        self.answer = answer
        guard let list = fetch.list, let placements = answer.places else { return }
        self.placements = ReceivedPlacements(
            placements, sectioned: list.sectionKeyPath != nil, count: Int(clamping: answer.count))
        self.answer.places = nil
    }

    /// Creates a list from an answer that may have more chunks.
    ///
    /// The chunks are consumed on the calling thread. The list is built from one chunk while the
    /// next is in flight. Throws the error that ended the answer early.
    init(
        _ head: FetchAnswer, of fetch: Fetch, _ chunks: ChunkReader?, from connection: Connection
    ) throws(TandemError) {
        self.init(head, of: fetch)
        guard head.hasMore, let chunks else { return }
        while let chunk = try connection.next(of: chunks) { append(chunk) }
        answer.hasMore = false
    }

    private mutating func append(_ chunk: FetchedChunk) {
        answer.objects.append(chunk.objects)
        if let more = chunk.places { placements?.append(more) }
    }
}
