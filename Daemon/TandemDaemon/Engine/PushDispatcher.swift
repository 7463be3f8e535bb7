import TandemModel
import TandemStore
import TandemWire

/// Pushes of transactions to the sessions that subscribe to their entities.
///
/// State:
/// - `subscribers`, `cache`: the sessions by interests, and the encoded pushes for them.
/// - `sharedBatch`: the last shared push batch, which the next session can often use as well.
final class PushDispatcher {
    private let committer: Committer
    private var subscribers = SubscriberRegistry()
    private var cache = PushBodyCache()
    private(set) var sharedBatch: SharedPushBatch?
    /// The time when the last flush returned, in nanoseconds of the monotonic clock.
    private(set) var flushedAt: UInt64 = 0
    /// The size of the transactions announced last, in bytes; 0 after ``consumeFlushedBytes()``.
    ///
    /// A turn may announce several flushes, such as one before a model change; the last counts.
    private var flushedBytes = 0

    init(_ committer: Committer) { self.committer = committer }

    // MARK: Subscribers

    /// The number of distinct sets of interests.
    var groupCount: Int { subscribers.groupCount }

    /// Replaces the interests of a session.
    func move(_ session: Session, to interests: Set<EntityTag>) {
        subscribers.move(session, to: interests)
    }

    /// Adds entities to the interests of a session that is current, effective from the tail.
    ///
    /// Everything up to the answer's position was pushed under the old interests. Unknown tags are
    /// ignored.
    func subscribe(_ session: Session, to tags: [EntityTag]) {
        guard let model = committer.store.model else { return }
        let known = tags.filter { model.entity(tagged: $0) != nil }
        guard !known.allSatisfy(session.interests.contains) else { return }
        subscribers.move(session, to: session.interests.union(known))
    }

    /// Removes a session that has ended.
    func remove(_ session: Session) {
        assert(session.isClosing, "Only a session that has ended is removed.")
        subscribers.remove(session)
    }

    // MARK: New transactions

    /// Marks the subscribers of the transactions of a flush as lagging, and passes those that were
    /// current to `onLag`; returns whether there are subscribers.
    func announce(
        _ transactions: [EncodedTransaction], after position: UInt64, at now: UInt64,
        _ onLag: (Session) -> Void
    ) -> Bool {
        assert(
            transactions.last?.position == committer.position,
            "Only durable transactions are announced.")
        flushedAt = now
        flushedBytes = transactions.reduce(0) { $0 + $1.bytes.count }
        return subscribers.markLagging(transactions, after: position, onLag)
    }

    /// Marks all sessions as lagging after a model change, which concerns all of them.
    func announceModel(after position: UInt64, _ onLag: (Session) -> Void) {
        subscribers.markAllLagging(after: position, onLag)
    }

    /// Returns the size of the transactions announced last, in bytes, or 0 if it has already been
    /// returned.
    ///
    /// A subscriber must be sent as many bytes as are saved; otherwise it lags while the saves
    /// continue.
    func consumeFlushedBytes() -> Int {
        defer { flushedBytes = 0 }
        return flushedBytes
    }

    // MARK: Queueing

    /// Queues pushes up to the outbound limit and the turn's limits.
    ///
    /// Throws ``TandemError`` if a transaction can't be read.
    func queue(_ session: Session) throws {
        let last = committer.position
        var left = DaemonLimits.turnTransactions
        let room = min(DaemonLimits.turnBytes, committer.limits.outboundBytes)
        while left > 0, let sent = session.lagPosition, session.outboundBytes < room {
            // A session without interests receives nothing after the last model change.
            let isIdle = session.interests.isEmpty && sent >= committer.store.modelPosition
            guard sent < last, !isIdle else { return subscribers.markCurrent(session) }
            if let body = try body(at: sent + 1, for: session) { session.push(body) }
            session.advance(to: sent + 1)
            left -= 1
        }
        if session.lagPosition == last { subscribers.markCurrent(session) }
    }

    /// Returns the push of a transaction to a session, or nil if the transaction is irrelevant.
    ///
    /// A body from the ring is encoded once per group. A session that reads from segments is
    /// usually the only one at its position, so its bodies aren't cached.
    private func body(at position: UInt64, for session: Session) throws -> PushBody? {
        guard let group = session.group else { return nil }
        if let first = committer.ring.first, position >= first {
            return try cache.body(at: position, for: group) {
                try session.subscription.source.transaction(at: position, committer.ring)
            }
        }
        let transaction = try session.subscription.source.transaction(at: position, committer.ring)
        return try group.filtered(transaction).map { try PushBody($0) }
    }

    // MARK: Shared batches

    /// The outcome of serving a session with a shared push batch.
    enum Offer {
        /// The session must be served separately.
        case none
        /// The socket accepted the whole batch.
        case accepted(bytes: Int)
        /// The socket accepted a part of the batch, and the rest was queued by reference.
        case queuedRest(bytes: Int)
        /// The connection is closed.
        case closed
    }

    /// Serves an idle session with a shared push batch.
    func offerShared(_ session: Session) throws -> Offer {
        guard let batch = try batch(for: session) else { return .none }
        let taken: Int
        switch session.offer(batch) {
        case .bytes(let count): taken = count
        case .wouldBlock: taken = 0
        case .closed: return .closed
        }
        assert(taken <= batch.bytes.count, "A socket accepts at most the offered bytes.")
        guard taken == batch.bytes.count else {
            try queue(session)
            session.drop(taken)
            return .queuedRest(bytes: taken)
        }
        session.didSend(batch)
        subscribers.markCurrent(session)
        return .accepted(bytes: taken)
    }

    /// Returns the batch of all pushes of a session up to the tail.
    ///
    /// Returns nil if there is none, or if the group has no other session.
    private func batch(for session: Session) throws -> SharedPushBatch? {
        guard let key = session.sharingKey else { return nil }
        let end = committer.position
        if let sharedBatch, sharedBatch.sharingKey == key, sharedBatch.end == end {
            return sharedBatch.isComplete ? sharedBatch : nil
        }
        guard let group = session.group, group.count > 1, key.lagPosition < end,
            end - key.lagPosition <= DaemonLimits.turnTransactions,
            let first = committer.ring.first, key.lagPosition + 1 >= first
        else { return nil }
        let limit = min(DaemonLimits.sharedPushBatchBytes, committer.limits.outboundBytes)
        let made = try SharedPushBatch(from: key, to: end, atMost: limit) {
            try body(at: $0, for: session)
        }
        sharedBatch = made
        return made.isComplete ? made : nil
    }
}
