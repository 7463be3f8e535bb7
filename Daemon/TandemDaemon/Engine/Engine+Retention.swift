import TandemJournal
import TandemModel
import TandemStore

extension Engine {
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
            // The consumers of the last checkpoint: an acknowledgement that a crash could undo
            // removes nothing.
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
        retention.nextLook.map { $0 <= clock.monotonicNanoseconds } ?? false
    }

    private func state(_ consumers: [Consumer]) -> RetentionState {
        RetentionState(
            segments: committer.journal.segments, checkpoint: committer.store.checkpointPosition,
            floors: consumers.map(\.acknowledged)
                + sessions.values.filter(\.isReady).map(\.needed) + pinned,
            now: clock.wallMicroseconds)
    }

    /// Counts and logs removed segments; sessions that need them fail when they are next served.
    func recordRemoval(_ plan: RetentionPlan, _ consumers: [Consumer], from first: UInt64) {
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
