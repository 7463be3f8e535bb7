import TandemModel

/// The sessions that follow the same entities.
final class Audience {
    /// Names the audience as long as the daemon lives.
    let number: UInt64
    /// What its sessions follow.
    let interests: Set<EntityTag>
    /// How many sessions it has.
    fileprivate(set) var count = 0
    /// Those that were served up to the journal's end, in the order in which they got there.
    fileprivate(set) var current: [Session] = []

    fileprivate init(_ number: UInt64, _ interests: Set<EntityTag>) {
        self.number = number
        self.interests = interests
    }

    /// What its sessions get of a transaction; nil for nothing.
    func part(of transaction: EncodedTransaction) -> EncodedTransaction? {
        transaction.filtered { interests.contains($0) }
    }
}

/// All sessions by what they follow, so that a transaction finds those that it interests without a look at the others.
///
/// A session is *current* when everything up to the journal's end was considered for it; that stays so, at no cost,
/// while the journal grows by what does not interest it. What does makes it one that is *behind* the position where it was.
struct Audiences {
    private var byInterests: [Set<EntityTag>: Audience] = [:]
    private var byTag: [EntityTag: [Audience]] = [:]
    private var created: UInt64 = 0

    /// How many different sets of interests there are.
    var count: Int { byInterests.count }

    // MARK: Members

    /// Puts a session where its interests are; it leaves where it was.
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

    /// Forgets a session.
    mutating func remove(_ session: Session) {
        guard let audience = session.audience else { return }
        session.audience = nil
        if session.behind == nil { audience.current.removeAll { $0 === session } }
        audience.count -= 1
        if audience.count == 0 { forget(audience) }
    }

    /// Notes that a session was served up to the journal's end.
    func reachedEnd(_ session: Session) {
        guard session.behind != nil else { return }
        session.behind = nil
        session.audience?.current.append(session)
    }

    // MARK: News

    /// Lets fall behind whom any of these transactions, which came after `position`, interests; tells whom.
    ///
    /// Returns whether they interest anybody, those included who are behind already.
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

    /// Lets fall behind everybody: a new model interests all.
    func allFallBehind(after position: UInt64, _ tell: (Session) -> Void) {
        // In an order that no hash decides.
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
