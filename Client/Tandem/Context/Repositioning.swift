import TandemModel
import TandemWire

/// The part of a verdict request that concerns one list.
struct VerdictQuery: Equatable {
    var list: ObjectIdentifier
    var item: VerdictItem?
}

/// A move of a context to an exact position, or a fetch of lists at its current position.
///
/// The properties record the state of the context at the start of the move.
struct Repositioning {
    let start: UInt64
    let target: UInt64
    let isExact: Bool
    let attempt: Int
    let pin: Pin?
    let interests: Set<EntityTag>
    /// The verdict queries at the time of the request; nil before the request.
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

    /// Returns a copy with the verdict queries of the next request.
    func asking(_ queries: [VerdictQuery]) -> Repositioning {
        var move = self
        move.queries = queries
        return move
    }
}
