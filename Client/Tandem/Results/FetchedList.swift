import TandemModel
import TandemWire

/// The answer to a fetch of a participant, put together: rows, or where the objects of a list stand.
struct FetchedList {
    /// The answer; the places of its objects are beside it.
    private(set) var answer: Fetched
    /// Where the objects stand, for a list of many.
    private(set) var places: GatheredPlaces?

    /// An answer that has come whole, or the head of one in parts.
    init(_ answer: Fetched, of fetch: Fetch) {
        self.answer = answer
        guard let list = fetch.list, let places = answer.places else { return }
        self.places = GatheredPlaces(
            places, sectioned: list.sectionKeyPath != nil, count: Int(clamping: answer.count))
        self.answer.places = nil
    }

    /// An answer of which parts may be to come; these are taken on the calling thread, and the list is made of one while the next is under way.
    ///
    /// Throws what broke the answer off.
    init(
        _ head: Fetched, of fetch: Fetch, _ parts: AnswerParts?, from connection: Connection
    ) throws(TandemError) {
        self.init(head, of: fetch)
        guard head.hasMore, let parts else { return }
        while let part = try connection.next(of: parts) { append(part) }
        answer.hasMore = false
    }

    private mutating func append(_ part: FetchedPart) {
        answer.objects.append(part.objects)
        if let more = part.places { places?.append(more) }
    }
}
