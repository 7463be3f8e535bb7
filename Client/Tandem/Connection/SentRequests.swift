import TandemWire

/// The requests that were sent and have no answer, in the order in which they were sent; by their numbers.
///
/// So few, usually one, that an array beats a dictionary.
struct SentRequests: Sendable {
    private var items: [(id: UInt32, request: PendingRequest)] = []

    var count: Int { items.count }

    var isEmpty: Bool { items.isEmpty }

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
