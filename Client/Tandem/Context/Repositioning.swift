import TandemModel
import TandemWire

/// A list's part of a verdict request.
struct VerdictQuery: Equatable {
    var asker: ObjectIdentifier
    var item: VerdictItem?
}

/// A repositioning of a context to an exact position, or a stay at its position.
///
/// It includes the state of the context when the repositioning began.
struct Repositioning {
    let start: UInt64
    let target: UInt64
    let isExact: Bool
    let attempt: Int
    let pin: Pin?
    let interests: Set<EntityTag>
    /// The verdict queries at the time of the request; nil before it.
    private(set) var queries: [VerdictQuery]?

    init(
        _ context: ManagedObjectContext, to target: UInt64? = nil, isExact: Bool = false,
        attempt: Int = 1
    ) {
        start = context.merged
        self.target = target ?? start
        self.isExact = isExact
        self.attempt = attempt
        pin = context.family.pin
        interests = context.connection.interests
    }

    /// Returns a copy with the verdict queries that a request is about to ask.
    func asking(_ queries: [VerdictQuery]) -> Repositioning {
        var move = self
        move.queries = queries
        return move
    }
}
