import TandemJournal
import TandemModel
import TandemStore

/// The policy at work: what was given up so far, and how old the oldest segment is.
struct Retention {
    let policy: RetentionPolicy
    var counters = RetentionCounters()
    /// The time of the last transaction of a segment, by its first position.
    private var times: [UInt64: Int64] = [:]

    init(_ policy: RetentionPolicy = RetentionPolicy()) { self.policy = policy }

    /// Decides what goes now.
    ///
    /// Reads one transaction of each segment whose age matters, once.
    mutating func plan(_ state: RetentionState, _ journal: Journal) -> RetentionPlan {
        times = times.filter { $0.key >= journal.bounds.first }
        return policy.plan(state, limit: DaemonLimits.trimmedSegments) { segment in
            if let known = times[segment.first] { return known }
            let time = Self.time(of: segment.last, journal)
            times[segment.first] = time
            return time
        }
    }

    private static func time(of position: UInt64, _ journal: Journal) -> Int64? {
        guard let entry = try? journal.read(from: position).next() else { return nil }
        return try? EncodedTransaction(bytes: entry.payload).decoded().time
    }

    /// What `status` shows.
    func status(of journal: Journal) -> JSON {
        func number(_ value: UInt64?) -> JSON { value.map { .int(Int64(clamping: $0)) } ?? .null }
        let segments = journal.segments
        return .object([
            "keepBytes": number(policy.keepBytes), "keepSeconds": number(policy.keepSeconds),
            "capBytes": number(policy.capBytes), "segments": .int(Int64(segments.count)),
            "bytes": number(segments.reduce(0) { $0 + $1.bytes }),
            "trimmedSegments": number(counters.segments), "trimmedBytes": number(counters.bytes),
            "expiredConsumers": number(counters.expiredConsumers),
            "expiredSessions": number(counters.expiredSessions),
            "failure": counters.failure.map { .string($0) } ?? .null,
        ])
    }
}

/// What retention did since the start.
struct RetentionCounters {
    var segments: UInt64 = 0
    var bytes: UInt64 = 0
    var expiredConsumers: UInt64 = 0
    var expiredSessions: UInt64 = 0
    /// Why the last attempt did not succeed; nil if it did.
    var failure: String?
}

extension Engine {
    /// Gives up what the policy allows; called behind a checkpoint, where no save waits.
    ///
    /// What can't be removed is tried again after the next one.
    func retain() {
        guard !retention.policy.keepsAll, committer.journal.segments.count > 1 else { return }
        do {
            let consumers = try committer.store.consumers()
            let plan = retention.plan(state(consumers), committer.journal)
            guard plan.segments > 0 else { return }
            let first = committer.journal.bounds.first
            try committer.journal.trim(below: plan.trimBelow)
            note(plan, consumers, from: first)
        } catch {
            if retention.counters.failure == nil {
                log(.trimFailed, [:], "\(error)")
            }
            retention.counters.failure = "\(error)"
        }
    }

    private func state(_ consumers: [Consumer]) -> RetentionState {
        RetentionState(
            segments: committer.journal.segments, checkpoint: committer.store.checkpointPosition,
            floors: consumers.map(\.acknowledged) + sessions.values.filter(\.isReady).map(\.sent),
            now: clock.wallMicroseconds)
    }

    /// Counts and says what went; sessions that needed it are told when they are next served.
    private func note(_ plan: RetentionPlan, _ consumers: [Consumer], from first: UInt64) {
        retention.counters.failure = nil
        retention.counters.segments += UInt64(plan.segments)
        retention.counters.bytes += plan.bytes
        log(
            .journalTrimmed,
            [
                "from": first, "to": plan.trimBelow - 1, "segments": plan.segments,
                "bytes": plan.bytes,
            ])
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
