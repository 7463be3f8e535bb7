import TandemIO
import TandemModel
import TandemWire

/// A running batch of any kind: one that searches for objects, or a chunk of rows to insert.
protocol BatchWork: AnyObject {
    /// The session that requested it.
    var session: Session { get }
    /// The id of the request, which is answered at the end.
    var id: UInt32 { get }
    /// Whether it waits for the search for its objects.
    var isSearching: Bool { get }
    /// Whether nothing but the answer is left.
    var isOver: Bool { get }

    /// Plans the next transaction into the batch of saves being built, if there is one to plan.
    ///
    /// `isAlone` means that no other client's save is in that batch. Then more transactions may be
    /// planned while there is time.
    func advance(
        _ committer: Committer, _ clock: any Clock, atMost most: Int, isAlone: Bool) throws
    /// Marks the planned transaction as durable, or fails with `unkept` if its record was not kept.
    func settle(unless unkept: TandemError?)
    /// Ends the batch with an error, after nothing of the planned transaction happened.
    func fail(_ error: TandemError)
    /// Returns the answer at the end, or nil before.
    func answer(at last: UInt64) -> DaemonMessage?
}

/// The adaptive number of objects in the next transaction of a batch, from recent durations.
struct BatchPace {
    private(set) var size = DaemonLimits.firstBatchObjects
    /// Whether the limit on a transaction's changes determines the size, rather than the duration.
    private(set) var isFull = false

    /// Limits the size to the maximum of a transaction.
    mutating func bound(_ most: Int) { size = min(size, most) }

    /// Sets the size to half of a transaction that was too large.
    mutating func halve(_ count: Int) { size = max(1, count / 2) }

    /// Adapts the size to a transaction's duration and number of changes.
    ///
    /// `changes` is the number of changes that `count` objects caused; it includes objects at the
    /// other ends of their links.
    mutating func note(
        _ nanoseconds: UInt64, _ count: Int, changing changes: Int, atMost most: Int
    ) {
        note(nanoseconds, atMost: most)
        guard changes > count, count > 0 else { return isFull = false }
        // Twice as many objects cause less than twice as many changes, since links lead to the same
        // objects.
        let room = max(1, count * (WireLimits.batchObjects * 15 / 16) / changes)
        isFull = size >= room
        size = min(size, room)
    }

    /// Adapts the size to a transaction's duration.
    mutating func note(_ nanoseconds: UInt64, atMost most: Int) {
        if nanoseconds > DaemonLimits.batchNanoseconds {
            // If the duration does not depend on the size, halving must not end with one object per
            // transaction.
            size = max(min(size, DaemonLimits.firstBatchObjects), size / 2)
        } else if nanoseconds < DaemonLimits.batchNanoseconds / 2 {
            size = min(size * 2, most)
        }
    }
}
