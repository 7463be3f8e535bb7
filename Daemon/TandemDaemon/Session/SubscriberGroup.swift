import TandemModel

/// The sessions with the same interests.
final class SubscriberGroup {
    /// The group's id, unique for the daemon's lifetime.
    let id: UInt64
    /// The entities its sessions subscribe to.
    let interests: Set<EntityTag>
    /// The number of its sessions, including lagging ones.
    fileprivate(set) var count = 0
    /// The sessions served up to the tail, in the order in which they reached it.
    fileprivate(set) var current: [Session] = []

    fileprivate init(_ id: UInt64, _ interests: Set<EntityTag>) {
        self.id = id
        self.interests = interests
    }

    /// Returns the transaction reduced to the group's interests, or nil if nothing is left.
    func filtered(_ transaction: EncodedTransaction) -> EncodedTransaction? {
        transaction.filtered { interests.contains($0) }
    }
}

/// All sessions, indexed by interest, so that a transaction finds its subscribers without a scan.
///
/// A session is *current* if every transaction up to the tail has been considered for it. It stays
/// current, at no cost, while irrelevant transactions are appended. The first relevant one makes
/// the session *lag*; its `lagPosition` is the last position considered for it.
struct SubscriberRegistry {
    private var byInterests: [Set<EntityTag>: SubscriberGroup] = [:]
    private var byTag: [EntityTag: [SubscriberGroup]] = [:]
    private var lastID: UInt64 = 0

    /// The number of distinct sets of interests.
    var groupCount: Int { byInterests.count }

    // MARK: Members

    /// Moves a session to the group with these interests.
    mutating func move(_ session: Session, to interests: Set<EntityTag>) {
        if let old = session.group {
            guard old.interests != interests else { return }
            remove(session)
        }
        let group = group(of: interests)
        group.count += 1
        session.join(group)
        if session.lagPosition == nil { group.current.append(session) }
    }

    /// Removes a session, and its group if the group is then empty.
    mutating func remove(_ session: Session) {
        guard let group = session.group else { return }
        session.leaveGroup()
        if session.lagPosition == nil { group.current.removeAll { $0 === session } }
        group.count -= 1
        assert(group.count >= group.current.count, "Current sessions are members of the group.")
        if group.count == 0 { removeGroup(group) }
    }

    /// Marks a session as current.
    func markCurrent(_ session: Session) {
        guard session.lagPosition != nil else { return }
        session.reachTail()
        session.group?.current.append(session)
    }

    // MARK: New transactions

    /// Marks the current subscribers of these transactions as lagging since `position`.
    ///
    /// `position` is the last one before the transactions. Passes each newly lagging session to
    /// `onLag`. Returns whether the transactions have any subscriber, including sessions that
    /// already lagged.
    func markLagging(
        _ transactions: [EncodedTransaction], after position: UInt64, _ onLag: (Session) -> Void
    ) -> Bool {
        if transactions.contains(where: \.isModel) {
            markAllLagging(after: position, onLag)
            return !byInterests.isEmpty
        }
        var hasSubscribers = false
        for transaction in transactions {
            for chunk in transaction.chunks {
                for group in byTag[chunk.tag] ?? [] {
                    hasSubscribers = true
                    markLagging(group, position, onLag)
                }
            }
        }
        return hasSubscribers
    }

    /// Marks every current session as lagging: a model change concerns all sessions.
    func markAllLagging(after position: UInt64, _ onLag: (Session) -> Void) {
        // Sorted, so that the order does not depend on hashing.
        for group in byInterests.values.sorted(by: { $0.id < $1.id }) {
            markLagging(group, position, onLag)
        }
    }

    private func markLagging(
        _ group: SubscriberGroup, _ position: UInt64, _ onLag: (Session) -> Void
    ) {
        guard !group.current.isEmpty else { return }
        for session in group.current {
            session.lag(after: position)
            onLag(session)
        }
        group.current.removeAll(keepingCapacity: true)
    }

    // MARK: Groups

    private mutating func group(of interests: Set<EntityTag>) -> SubscriberGroup {
        if let known = byInterests[interests] { return known }
        lastID += 1
        let group = SubscriberGroup(lastID, interests)
        byInterests[interests] = group
        for tag in interests { byTag[tag, default: []].append(group) }
        return group
    }

    private mutating func removeGroup(_ group: SubscriberGroup) {
        assert(group.current.isEmpty, "A removed group has no sessions.")
        byInterests[group.interests] = nil
        for tag in group.interests {
            byTag[tag]?.removeAll { $0 === group }
            if byTag[tag]?.isEmpty == true { byTag[tag] = nil }
        }
    }
}
