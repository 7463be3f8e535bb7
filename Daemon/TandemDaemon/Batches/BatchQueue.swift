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
    /// Throws `limitExceeded` with the limit's name, and counts it, when too many of its user or its connection wait, or
    /// too many bytes of them.
    mutating func add(
        _ run: BatchRun, _ limits: DaemonLimits, _ counts: LimitCounts
    ) throws(TandemError) {
        let ofUser = waiting.filter { $0.principal.uid == run.principal.uid }
        let ofSession = ofUser.count { $0.session === run.session }
        if ofSession >= limits.batchesPerConnection {
            let text = "\(ofSession) batches of this connection wait already"
            throw counts.refusal(.batchesPerConnection, limits, text + Self.advice)
        }
        if ofUser.count >= limits.batchesPerUser {
            let text = "\(ofUser.count) batches of this user wait already"
            throw counts.refusal(.batchesPerUser, limits, text + Self.advice)
        }
        let bytes = ofUser.reduce(run.bytes) { $0 + $1.bytes }
        if !ofUser.isEmpty, bytes > limits.inboundBytes {
            let text = "the batches of this user that wait would take \(bytes) bytes"
            throw counts.refusal(.inboundBytes, limits, text + Self.advice)
        }
        waiting.append(run)
    }

    private static let advice = ", try again when one has ended"

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
