import TandemModel
import TandemWire

@testable import TandemDaemon

/// The oracle of a world: it checks the laws, using only the disk's content and the messages on the
/// wire.
///
/// Only the first violation is recorded, and it ends the world.
final class Oracle {
    private let machine: Machine
    private var log: DurableLog
    private(set) var truth: Truth
    private(set) var violation: Violation?
    /// The epoch of the transactions in `truth`.
    private(set) var epoch: UInt32 = 1
    /// The highest position that any client knows.
    private(set) var known: UInt64 = 0
    private var leased: [Range<UInt64>] = []
    private let isRelaxed: Bool

    init(_ machine: Machine, isRelaxed: Bool, savesKept: UInt64) {
        truth = Truth(savesKept: savesKept)
        self.machine = machine
        self.isRelaxed = isRelaxed
        log = DurableLog(machine, takesWritten: isRelaxed)
    }

    /// The machine's time in nanoseconds.
    var now: UInt64 { machine.clock.monotonicNanoseconds }

    func report(_ violation: Violation) { if self.violation == nil { self.violation = violation } }

    func report(_ law: Int, _ what: @autoclosure () -> String) {
        if violation == nil { violation = Violation(law, what()) }
    }

    func expect(_ condition: Bool, _ law: Int, _ what: @autoclosure () -> String) {
        if !condition { report(law, what()) }
    }

    // MARK: The disk

    /// Adds the transactions that became durable since the last call.
    func readNewTransactions() {
        do {
            for (position, bytes) in log.advance() {
                let transaction = try Self.transaction(bytes)
                guard position > truth.last else {
                    expect(
                        truth[position] == transaction, 3,
                        "transaction \(position) differs after a restart")
                    continue
                }
                try truth.append(transaction)
            }
        } catch {
            report(error)
        }
    }

    private static func transaction(_ bytes: [UInt8]) throws(Violation) -> EncodedTransaction {
        do {
            return try EncodedTransaction(bytes: bytes)
        } catch {
            throw Violation(3, "a durable transaction cannot be read: \(error)")
        }
    }

    /// Checks after a restart that everything that was durable is still there, unchanged.
    func recheck(last: UInt64, epoch: UInt32) {
        let before = truth.last
        log.restart()
        if epoch != self.epoch { return begin(epoch: epoch, at: last) }
        readNewTransactions()
        expect(
            last >= before, 3,
            "the journal ends at \(last) after a restart, but \(before) was durable")
        expect(last == truth.last, 1, "the daemon is at \(last), but the disk is at \(truth.last)")
    }

    /// Begins another epoch: everything after `last` is lost, and its positions may be reused.
    func begin(epoch: UInt32, at last: UInt64) {
        expect(epoch > self.epoch, 2, "epoch \(epoch) comes after \(self.epoch)")
        self.epoch = epoch
        known = min(known, last)
        leased = []
        do {
            truth = try truth.cut(to: last)
        } catch {
            report(error)
        }
        log.restart()
        readNewTransactions()
    }

    /// Whether the transaction after a position is no longer on the disk.
    ///
    /// Law 2 does not allow a slow reader to miss anything. Retention has a cap, however: readers
    /// that fall behind it are expired, notified, and start again from a snapshot. A world trims
    /// the journal in the same way, regardless of connected clients. A client may therefore receive
    /// `historyExpired` only if the next transaction it needs was removed.
    func lacksNext(after position: UInt64) -> Bool { position + 1 < log.segments().first ?? 1 }

    // MARK: Law 1

    /// Checks that transaction `position` is durable before a message or commit shows it.
    func mustBeDurable(_ position: UInt64, _ what: @autoclosure () -> String) {
        guard position > truth.last else { return }
        readNewTransactions()
        expect(
            position <= truth.last, 1,
            "\(what()) shows \(position), but only \(truth.last) is durable")
    }

    /// Checks a commit of the store: its content must survive a power cut, even with relaxed
    /// durability.
    func commits(_ position: UInt64) {
        mustBeDurable(position, "a commit of the store")
        guard isRelaxed else { return }
        var durable = DurableLog(machine, takesWritten: false)
        _ = durable.advance()
        expect(
            position <= durable.last, 1,
            "a commit of the store shows \(position), but only \(durable.last) is durable")
    }

    /// Checks a message that the daemon sends.
    func sends(_ envelope: Envelope<DaemonMessage>) {
        switch envelope.message {
        case .transaction(let push): mustBeDurable(push.transaction.position, "a push")
        case .progress(let push): mustBeDurable(push.position, "a progress mark")
        case .welcome(let welcome): mustBeDurable(welcome.position, "a welcome")
        case .history(let history): mustBeDurable(history.position, "a history")
        default:
            guard let position = envelope.message.announcedPosition else { return }
            mustBeDurable(position, "an answer of type \(envelope.message.type)")
        }
    }

    // MARK: What clients learn

    func learns(_ position: UInt64) { known = max(known, position) }

    /// Checks that numbers are leased once per epoch, and never if an object uses them.
    func checkLease(_ lease: Lease) {
        guard lease.epoch == epoch, lease.count > 0 else { return }
        let range = lease.first..<(lease.first + UInt64(lease.count))
        if let other = leased.first(where: { $0.overlaps(range) }) {
            report(3, "the numbers \(range) are leased, but \(other) were leased before")
        }
        if let used = truth.numbers.first(where: { range.contains($0) }) {
            report(3, "the numbers \(range) are leased, but \(used) is in use")
        }
        leased.append(range)
    }

    // MARK: Law 8

    func measure(_ session: Session, _ limits: DaemonLimits) {
        let outbound = limits.outboundBytes + 2 * truth.bytes + (64 << 10)
        let measures = [
            ("outbound bytes", session.outboundBytes, outbound),
            ("requests", session.input.queue.waiting.count, WireLimits.requestsInFlight + 1),
            ("held answers", session.output.held.count, WireLimits.requestsInFlight),
            ("waiting syncs", session.syncs.count, WireLimits.requestsInFlight),
            (
                "bytes of an unfinished message", session.input.bufferedBytes,
                WireLimits.clientMessageBytes + WireLimits.frameBytes
            ),
        ]
        for (name, value, limit) in measures where value > limit {
            report(8, "a session has \(value) \(name), above the limit of \(limit)")
        }
    }
}
