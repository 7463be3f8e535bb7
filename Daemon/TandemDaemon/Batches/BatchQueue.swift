import TandemModel
import TandemWire

/// The batch under way and those that wait: one of each user in turn, worked off whole.
///
/// Of a user, and of a connection, only so many may wait, so that nobody keeps the others out.
struct BatchQueue {
    /// Objects in one transaction of a batch, at most.
    var most = WireLimits.batchObjects
    /// The one whose turn it is.
    private(set) var current: BatchRun?
    /// In the order in which they came.
    private var waiting: [BatchRun] = []
    /// At which turn users had theirs last; one entry for each that ever had one.
    private var served: [UInt32: UInt64] = [:]
    private var turns: UInt64 = 0

    /// Whether there are none.
    var isEmpty: Bool { current == nil && waiting.isEmpty }

    /// Takes a batch in.
    ///
    /// Throws `limitExceeded` when too many of its user or its connection wait, or too many bytes of them.
    mutating func add(_ run: BatchRun, bytes most: Int) throws(TandemError) {
        let ofUser = waiting.filter { $0.principal.uid == run.principal.uid }
        let ofSession = ofUser.count { $0.session === run.session }
        guard ofSession < DaemonLimits.batchesOfSession, ofUser.count < DaemonLimits.batchesOfUser
        else {
            throw TandemError(
                .limitExceeded,
                "\(ofSession) batches of this connection and \(ofUser.count) of this user wait "
                    + "already; try again when one has ended")
        }
        guard ofUser.isEmpty || ofUser.reduce(run.bytes, { $0 + $1.bytes }) <= most else {
            throw TandemError(
                .limitExceeded,
                "the batches of this user that wait take more than \(most) bytes; try again when "
                    + "one has ended")
        }
        waiting.append(run)
    }

    /// Ends the one under way.
    mutating func endCurrent() { current = nil }

    /// Drops those whose client has gone: it wants no more of them.
    mutating func dropClosed() {
        waiting.removeAll { $0.session.isClosing }
        if current?.session.isClosing ?? false { current = nil }
    }

    /// The batch whose turn it is: when none is under way, the first of the user whose last turn is longest ago.
    mutating func next() -> BatchRun? {
        if let current { return current }
        guard let index = waiting.indices.min(by: { lastTurn($0) < lastTurn($1) }) else {
            return nil
        }
        let run = waiting.remove(at: index)
        turns += 1
        served[run.principal.uid] = turns
        current = run
        return run
    }

    private func lastTurn(_ index: Int) -> (UInt64, Int) {
        (served[waiting[index].principal.uid] ?? 0, index)
    }
}
