import TandemWire

/// The requests that were sent and have no answer, in the order in which they were sent; by their numbers.
///
/// So few, usually one, that an array beats a dictionary.
struct SentRequests: Sendable {
    private var items: [(id: UInt32, request: PendingRequest)] = []

    var count: Int { items.count }

    var isEmpty: Bool { items.isEmpty }

    /// Whether an answer of which some has come is put together.
    var isGathering: Bool { items.contains { $0.request.gathered != nil } }

    /// The earliest moment at which one has waited too long.
    var earliestDeadline: UInt64? {
        var earliest: UInt64?
        for item in items { earliest = min(earliest ?? .max, item.request.deadline) }
        return earliest
    }

    mutating func add(_ request: PendingRequest, id: UInt32) { items.append((id, request)) }

    /// Takes out the request of a number, if it has no answer yet.
    mutating func remove(_ id: UInt32) -> PendingRequest? {
        guard let index = items.firstIndex(where: { $0.id == id }) else { return nil }
        return items.remove(at: index).request
    }

    /// Begins an answer in parts; gives the reply of who is told of it at once, and takes the parts by itself.
    mutating func begin(_ head: Fetched, _ id: UInt32) -> Reply<DaemonMessage>? {
        guard let index = items.firstIndex(where: { $0.id == id }) else { return nil }
        guard let parts = items[index].request.parts else {
            items[index].request.gathered = head
            return nil
        }
        parts.begin(head)
        items[index].request.isTold = true
        return items[index].request.reply
    }

    /// What becomes of an answer by one more part.
    enum Gathering {
        /// More parts are to come.
        case goesOn
        /// More parts are to come, which nobody takes any more.
        case isUnwanted
        /// Who asked has all of it.
        case isTaken
        /// That was the last part of this one.
        case isWhole(Fetched)
    }

    /// Adds a part to an answer, for whose next one there is time until then; throws `storage` for one that does not belong to it.
    mutating func add(
        _ part: FetchedPart, _ id: UInt32, deadline: UInt64
    ) throws(TandemError) -> Gathering {
        guard let index = items.firstIndex(where: { $0.id == id }) else { return .goesOn }
        items[index].request.deadline = deadline
        if items[index].request.isTold { return try addTold(part, at: index) }
        guard items[index].request.gathered?.append(part) ?? false else {
            throw TandemError(.storage, "the daemon sent a part that belongs to no answer")
        }
        guard !part.hasMore, let answer = items[index].request.gathered else { return .goesOn }
        return .isWhole(answer)
    }

    private mutating func addTold(
        _ part: FetchedPart, at index: Int
    ) throws(TandemError) -> Gathering {
        let isWanted = try items[index].request.parts?.add(part) ?? false
        if !part.hasMore { return .isTaken }
        guard !isWanted, !items[index].request.isCancelled else { return .goesOn }
        items[index].request.isCancelled = true
        return .isUnwanted
    }

    /// Notes that nobody waits for a request any more, which keeps its number until it is answered; nil if that is noted, or there is
    /// none.
    mutating func cancel(_ reply: Reply<DaemonMessage>) -> UInt32? {
        guard let index = items.firstIndex(where: { $0.request.reply === reply }),
            !items[index].request.isCancelled
        else { return nil }
        items[index].request.isCancelled = true
        return items[index].id
    }

    /// Takes out those for which something holds.
    mutating func remove(where isMeant: (PendingRequest) -> Bool) -> [PendingRequest] {
        guard items.contains(where: { isMeant($0.request) }) else { return [] }
        let found = items.map(\.request).filter(isMeant)
        items.removeAll { isMeant($0.request) }
        return found
    }

    /// Takes out all.
    mutating func removeAll() -> [PendingRequest] {
        defer { items.removeAll() }
        return items.map(\.request)
    }
}
