import TandemStore
import TandemWire

/// An answer to a fetch that is being sent, message by message: one that is known, or a list that is put in order meanwhile.
struct AnswerUnderWay {
    /// The answer, or what comes before the list's objects.
    private var known: FetchedParts
    private let list: FoundList?
    private let partBytes: Int

    /// An answer whose parts have about so many bytes; of one that has a list the objects are the list's.
    init(_ answer: Fetched, _ list: FoundList?, partBytes: Int) {
        known = FetchedParts(answer, partBytes: partBytes)
        self.list = list
        self.partBytes = partBytes
    }

    /// About the bytes that it holds until the last message is made.
    var bytes: Int { known.bytes + (isListed ? 0 : list?.bytes ?? 0) }

    /// Whether all messages were made.
    var isDone: Bool { known.isDone && isListed }

    /// Whether it is a list that is put in order meanwhile.
    var isList: Bool { list != nil }

    private var isListed: Bool { list?.isTaken ?? true }

    /// The next message; nil when there is none, or where the budget was used up before there was a whole one.
    mutating func nextMessage(_ budget: inout Int) -> DaemonMessage? {
        if let message = known.nextMessage() { return message }
        guard let list, !list.isTaken else { return nil }
        return list.takePart(bytes: partBytes, &budget).map {
            .part(FetchedPart(places: $0, hasMore: !list.isTaken))
        }
    }
}
