import TandemIO
import TandemJournal
import TandemModel
import TandemStore

/// Work on journal and store that follows checkpoints and commits: retention, and checks of the
/// store's readers and size.
///
/// State:
/// - `retention`: the policy, its counters, and the time of its next run.
/// - `maintenance`, `housekeeping`: the checks after checkpoints, and their rate limit.
/// - `holders`: the sessions that read as consumers, for which the journal is kept.
final class JournalMaintenance {
    let committer: Committer
    let clock: any Clock
    let log: DaemonLog
    let admission: Admission
    let holders: ConsumerHolders
    private(set) var retention = Retention()
    private var maintenance = Maintenance()
    private var housekeeping = Housekeeping()

    init(_ committer: Committer, clock: any Clock, log: DaemonLog, admission: Admission) {
        (self.committer, self.clock) = (committer, clock)
        (self.log, self.admission) = (log, admission)
        holders = ConsumerHolders(admission)
    }

    /// Sets the retention policy, and resets its counters.
    func setPolicy(_ policy: RetentionPolicy) { retention = Retention(policy) }

    // MARK: After checkpoints

    /// Returns whether the work that follows checkpoints is due.
    func isHousekeepingDue() -> Bool {
        housekeeping.consumeDue(
            checkpoints: committer.reporter.counters.checkpoints.count, clock.monotonicNanoseconds)
    }

    /// The time when the work that follows checkpoints is due; nil if none is pending.
    var housekeepingDue: UInt64? { housekeeping.due }

    /// Runs the maintenance of the store if it is due; called after a checkpoint.
    func maintain() throws {
        let now = clock.monotonicNanoseconds
        for notice in try maintenance.check(committer, now: now) {
            log(notice.event, notice.fields, notice.advice)
        }
    }

    /// The number of readers that died without releasing their slots in the store.
    var deadReaders: Int { maintenance.deadReaders }

    // MARK: Retention

    /// Removes the segments that the policy allows; called while no save waits.
    ///
    /// A failed removal is retried after the next checkpoint.
    func retain() {
        var isMore = false
        defer {
            let now = clock.monotonicNanoseconds
            retention.schedule(
                state([]), committer.journal, monotonic: now, pinEnd: nextPinEnd)
            if isMore { retention.scheduleNow(now) }
        }
        guard !retention.policy.keepsAll, committer.journal.segments.count > 1 else { return }
        do {
            // The consumers as of the last checkpoint, because an acknowledgement that a crash
            // could undo must not remove segments.
            let consumers = try committer.store.consumers()
            let plan = retention.plan(state(consumers), committer.journal)
            guard plan.segments > 0 else { return }
            let first = committer.journal.bounds.first
            try committer.journal.trim(below: plan.trimBelow)
            // Without saves there may be no checkpoint soon, so later rounds continue a removal
            // that reached its limit.
            isMore = plan.segments == DaemonLimits.trimmedSegments
            recordRemoval(plan, try committer.consumers.all(), from: first)
        } catch {
            if retention.counters.failure == nil {
                log(.trimFailed, [:], "\(error)")
            }
            retention.counters.failure = "\(error)"
        }
    }

    /// Whether a run without a checkpoint is due.
    var isRetentionDue: Bool {
        retention.nextRetry.map { $0 <= clock.monotonicNanoseconds } ?? false
    }

    /// Schedules retention now that a pin, reset or session no longer holds segments.
    ///
    /// Without saves there may be no checkpoint soon, and those segments may have kept the disk
    /// full.
    func scheduleRetention() { retention.scheduleNow(clock.monotonicNanoseconds) }

    /// Counts a session whose next transactions were removed.
    func countExpiredSession() { retention.counters.expiredSessions += 1 }

    /// Counts pins that ended before their clients released them.
    func countExpiredPins(_ count: Int) {
        assert(count >= 0, "The counter never decreases.")
        retention.counters.expiredPins += UInt64(count)
    }

    /// Decides which segments to remove for a vacuum request.
    func plan(_ vacuum: Vacuum, _ state: RetentionState, limit: Int) -> VacuumPlan {
        retention.plan(vacuum, state, committer.journal, limit: limit)
    }

    private func state(_ consumers: [Consumer]) -> RetentionState {
        RetentionState(
            segments: committer.journal.segments, checkpoint: committer.store.checkpointPosition,
            floors: consumers.map(\.acknowledged)
                + admission.sessions.values.filter(\.isReady).map(\.needed) + pinned,
            now: clock.wallMicroseconds)
    }

    /// Counts and logs removed segments; sessions that need them fail when they are next served.
    func recordRemoval(_ plan: RetentionPlan, _ consumers: [Consumer], from first: UInt64) {
        assert(plan.segments > 0 && plan.trimBelow > first, "A removal has segments.")
        retention.counters.failure = nil
        retention.counters.segments += UInt64(plan.segments)
        retention.counters.bytes += plan.bytes
        log(
            .journalTrimmed,
            [
                "from": first, "to": plan.trimBelow - 1, "segments": plan.segments,
                "bytes": plan.bytes,
            ])
        endPins(below: plan.trimBelow - 1)
        let needed = first - 1..<plan.trimBelow - 1
        for consumer in consumers where needed.contains(consumer.acknowledged) {
            retention.counters.expiredConsumers += 1
            log(
                .consumerExpired,
                [
                    "consumer": consumer.name, "needs": consumer.acknowledged + 1,
                    "first": plan.trimBelow,
                ])
        }
    }
}
