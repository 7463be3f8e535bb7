import TandemModel

/// The entities that a client certainly subscribes to, and those that it may already subscribe to.
///
/// A read with interests takes effect when the daemon carries it out, at or before its answer's
/// position. So transactions up to that position may include the new entities, and later ones must.
struct FollowedEntities {
    /// The entities that the client certainly subscribes to.
    private(set) var certain: Set<EntityTag> = []
    /// The entities of unanswered reads, by request.
    private var asked: [UInt32: Set<EntityTag>] = [:]
    /// The entities of failed reads; the daemon may have subscribed the client to them.
    private var perhaps: Set<EntityTag> = []
    /// The transactions pushed while reads are unanswered, by position; emptied when none is.
    private var heard: [UInt64: EncodedTransaction] = [:]

    init() {}

    init(certain: Set<EntityTag>) { self.certain = certain }

    mutating func ask(_ tags: [EntityTag], request: UInt32) {
        if !tags.isEmpty { asked[request] = Set(tags) }
    }

    /// Returns whether changes of an entity may be pushed.
    func mayFollow(_ tag: EntityTag) -> Bool {
        certain.contains(tag) || perhaps.contains(tag) || asked.values.contains { $0.contains(tag) }
    }

    mutating func hear(_ transaction: EncodedTransaction) {
        if !asked.isEmpty { heard[transaction.position] = transaction }
    }

    mutating func fail(request: UInt32) {
        perhaps.formUnion(asked.removeValue(forKey: request) ?? [])
        if asked.isEmpty { heard = [:] }
    }

    /// Adds the entities of an answered read.
    ///
    /// Returns the pushed transactions by position, at least those since the read was sent; nil if
    /// the read had no interests.
    mutating func answer(request: UInt32) -> [UInt64: EncodedTransaction]? {
        guard let tags = asked.removeValue(forKey: request) else { return nil }
        certain.formUnion(tags)
        defer { if asked.isEmpty { heard = [:] } }
        return heard
    }
}
