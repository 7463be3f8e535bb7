/// The subscription of a session: its group, and its position in the journal.
///
/// The `lagPosition` of a lagging session is the last position considered for it. The property is
/// nil while the session is current, and stays nil while irrelevant transactions are appended.
struct Subscription {
    /// The sessions with the same interests, including this one; nil before the hello.
    ///
    /// ``SubscriberRegistry`` retains a group while it has sessions, and the group retains its
    /// sessions. A daemon that is torn down must therefore release both.
    private(set) unowned var group: SubscriberGroup?
    /// The id of the subscriber group; 0 if there is none.
    private(set) var groupID: UInt64 = 0
    /// The position up to which every transaction has been considered for this client, whether
    /// pushed or irrelevant; nil if that position is the tail.
    private(set) var lagPosition: UInt64?
    /// Whether the client is to be sent a progress mark, unless it already knows the position.
    private(set) var needsProgressMark = false
    /// The number of changes of the read-only state when it was last sent to this client.
    private(set) var sentState: UInt64 = 0
    /// The source of the transactions that are pushed.
    let source: TransactionSource

    init(_ source: TransactionSource) { self.source = source }

    // MARK: Group

    /// Records that the session is a member of a group.
    mutating func join(_ group: SubscriberGroup) {
        assert(self.group == nil, "A session is a member of one group.")
        self.group = group
        groupID = group.id
    }

    /// Records that the session is a member of no group.
    mutating func leaveGroup() {
        assert(group != nil, "Only a member leaves a group.")
        group = nil
        groupID = 0
    }

    // MARK: Lag

    /// Begins after the position from which the client resumes; at the tail if that is nil.
    mutating func begin(after position: UInt64?) {
        assert(group == nil, "A session begins before it joins a group.")
        lagPosition = position
    }

    /// Records that transactions after a position are still to be considered.
    mutating func lag(after position: UInt64) {
        assert(lagPosition == nil, "Only a current session begins to lag.")
        lagPosition = position
    }

    /// Records that the next transaction has been considered.
    mutating func advance(to position: UInt64) {
        assert(lagPosition.map { $0 + 1 == position } ?? false, "No transaction is skipped.")
        lagPosition = position
    }

    /// Records that every transaction up to the tail has been considered.
    mutating func reachTail() { lagPosition = nil }

    // MARK: Announcements

    /// Records that the client is to be sent a progress mark.
    mutating func requestProgressMark() { needsProgressMark = true }

    /// Returns whether the client is to be sent a progress mark, and clears the request for it.
    mutating func consumeProgressMark() -> Bool {
        defer { needsProgressMark = false }
        return needsProgressMark
    }

    /// Records that the client was sent the read-only state, which has changed `changes` times.
    mutating func didSend(state changes: UInt64) {
        assert(changes >= sentState, "A client is never sent an older state than before.")
        sentState = changes
    }
}
