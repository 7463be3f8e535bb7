import TandemModel

/// The sessions with the same interests.
final class Audience {
    /// Identifies the audience for the daemon's lifetime.
    let number: UInt64
    /// The entities its sessions subscribe to.
    let interests: Set<EntityTag>
    /// The number of its sessions, lagging ones included.
    fileprivate(set) var count = 0
    /// The sessions served up to the tail, in the order in which they reached it.
    fileprivate(set) var current: [Session] = []

    fileprivate init(_ number: UInt64, _ interests: Set<EntityTag>) {
        self.number = number
        self.interests = interests
    }

    /// Returns the transaction reduced to the audience's interests, or nil if nothing is left.
    func part(of transaction: EncodedTransaction) -> EncodedTransaction? {
        transaction.filtered { interests.contains($0) }
    }
}

/// All sessions, indexed by interest, so that a transaction finds its subscribers without a scan.
///
/// A session is *current* if every transaction up to the tail has been considered for it. It stays
/// current, at no cost, while irrelevant transactions are appended. The first relevant one makes
/// the session *lag*; its `behind` is the last position considered for it.
struct Audiences {
    private var byInterests: [Set<EntityTag>: Audience] = [:]
    private var byTag: [EntityTag: [Audience]] = [:]
    private var created: UInt64 = 0

    /// The number of distinct sets of interests.
    var count: Int { byInterests.count }

    // MARK: Members

    /// Moves a session to the audience with these interests.
    mutating func move(_ session: Session, to interests: Set<EntityTag>) {
        if let old = session.audience {
            guard old.interests != interests else { return }
            remove(session)
        }
        let audience = audience(of: interests)
        audience.count += 1
        session.audience = audience
        if session.behind == nil { audience.current.append(session) }
    }

    /// Removes a session, and its audience if that is empty now.
    mutating func remove(_ session: Session) {
        guard let audience = session.audience else { return }
        session.audience = nil
        if session.behind == nil { audience.current.removeAll { $0 === session } }
        audience.count -= 1
        if audience.count == 0 { forget(audience) }
    }

    /// Marks a session as current.
    func reachedEnd(_ session: Session) {
        guard session.behind != nil else { return }
        session.behind = nil
        session.audience?.current.append(session)
    }

    // MARK: New transactions

    /// Marks the current subscribers of these transactions as lagging since `position`.
    ///
    /// `position` is the last one before the transactions. Passes each newly lagging session to
    /// `tell`. Returns whether the transactions have any subscriber, sessions included that lagged
    /// before.
    func fallBehind(
        _ transactions: [EncodedTransaction], after position: UInt64, _ tell: (Session) -> Void
    ) -> Bool {
        if transactions.contains(where: \.isModel) {
            allFallBehind(after: position, tell)
            return !byInterests.isEmpty
        }
        var isNews = false
        for transaction in transactions {
            for chunk in transaction.chunks {
                for audience in byTag[chunk.tag] ?? [] {
                    isNews = true
                    release(audience, position, tell)
                }
            }
        }
        return isNews
    }

    /// Marks every current session as lagging: a model change concerns all sessions.
    func allFallBehind(after position: UInt64, _ tell: (Session) -> Void) {
        // Sorted, so that the order does not depend on hashing.
        for audience in byInterests.values.sorted(by: { $0.number < $1.number }) {
            release(audience, position, tell)
        }
    }

    private func release(
        _ audience: Audience, _ position: UInt64, _ tell: (Session) -> Void
    ) {
        guard !audience.current.isEmpty else { return }
        for session in audience.current {
            session.behind = position
            tell(session)
        }
        audience.current.removeAll(keepingCapacity: true)
    }

    // MARK: Audiences

    private mutating func audience(of interests: Set<EntityTag>) -> Audience {
        if let known = byInterests[interests] { return known }
        created += 1
        let audience = Audience(created, interests)
        byInterests[interests] = audience
        for tag in interests { byTag[tag, default: []].append(audience) }
        return audience
    }

    private mutating func forget(_ audience: Audience) {
        byInterests[audience.interests] = nil
        for tag in audience.interests {
            byTag[tag]?.removeAll { $0 === audience }
            if byTag[tag]?.isEmpty == true { byTag[tag] = nil }
        }
    }
}
