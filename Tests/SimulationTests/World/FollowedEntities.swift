import TandemModel

/// The entities that a client follows, and those that the daemon may take it to follow already.
///
/// A read with interests takes effect at the daemon when it is carried out there, at or before its answer's position. So transactions
/// up to that position may come with the new entities, later ones must.
struct FollowedEntities {
    /// What the client surely follows.
    private(set) var certain: Set<EntityTag> = []
    /// What unanswered reads ask for, by request.
    private var asked: [UInt32: Set<EntityTag>] = [:]
    /// What failed reads asked for; the daemon may or may not have followed it.
    private var perhaps: Set<EntityTag> = []
    /// What was pushed since the oldest of the unanswered reads was sent, by position.
    private var heard: [UInt64: EncodedTransaction] = [:]

    init() {}

    init(certain: Set<EntityTag>) { self.certain = certain }

    mutating func ask(_ tags: [EntityTag], request: UInt32) {
        if !tags.isEmpty { asked[request] = Set(tags) }
    }

    /// Whether changes of an entity may be pushed.
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

    /// Follows what an answered read asked for; returns what was pushed since it was sent, by position, nil if it asked for nothing.
    mutating func answer(request: UInt32) -> [UInt64: EncodedTransaction]? {
        guard let tags = asked.removeValue(forKey: request) else { return nil }
        certain.formUnion(tags)
        defer { if asked.isEmpty { heard = [:] } }
        return heard
    }
}
