import TandemIO
import TandemModel
import TandemWire

/// A batch whose turn it is, of whatever kind: objects that are looked for, or rows that came with it.
protocol BatchWork: AnyObject {
    /// Who asked for it.
    var session: Session { get }
    /// The request that is answered when it is over.
    var id: UInt32 { get }
    /// Whether it waits until its objects are found.
    var isSearching: Bool { get }
    /// Whether it has nothing more to do than to be answered.
    var isOver: Bool { get }

    /// Plans its next transaction into the batch of saves that is being built, if it has come to that.
    ///
    /// `isAlone` says that nobody else's save is in it: then it may have another one, while there is time.
    func advance(
        _ committer: Committer, _ clock: any Clock, atMost most: Int, isAlone: Bool) throws
    /// Notes that what was planned is durable, unless there was no room to keep it.
    func settle(unless unkept: TandemError?)
    /// Notes that nothing of what was planned happened, and why.
    func fail(_ error: TandemError)
    /// What its client is told; nil while it goes on.
    func answer(at last: UInt64) -> DaemonMessage?
}

/// How many objects the next transaction of a batch may have, by how long the last ones took.
struct BatchPace {
    private(set) var size = DaemonLimits.firstBatchObjects
    /// Whether what a transaction may change is what bounds it, rather than the time.
    private(set) var isFull = false

    /// Keeps to a bound of a transaction.
    mutating func bound(_ most: Int) { size = min(size, most) }

    /// Lets the next one have half as many as one that was too large.
    mutating func halve(_ count: Int) { size = max(1, count / 2) }

    /// Lets the next one have as many objects as it takes to keep to the time, and to what a transaction may change.
    ///
    /// `count` of them took so long and came to so many changes: the other ends of their links are among these.
    mutating func note(
        _ nanoseconds: UInt64, _ count: Int, changing changes: Int, atMost most: Int
    ) {
        note(nanoseconds, atMost: most)
        guard changes > count, count > 0 else { return isFull = false }
        // Twice as many come to less than twice as many changes, since links lead to the same objects.
        let room = max(1, count * (WireLimits.batchObjects * 15 / 16) / changes)
        isFull = size >= room
        size = min(size, room)
    }

    /// Lets the next one have as many objects as it takes to keep to the time.
    mutating func note(_ nanoseconds: UInt64, atMost most: Int) {
        if nanoseconds > DaemonLimits.batchNanoseconds {
            // What takes long for few objects as for many must not make it as many transactions as there are objects.
            size = max(min(size, DaemonLimits.firstBatchObjects), size / 2)
        } else if nanoseconds < DaemonLimits.batchNanoseconds / 2 {
            size = min(size * 2, most)
        }
    }
}
