import TandemJournal
import TandemModel
import TandemStore

/// The consumers, and the checks of requests about them.
///
/// The owner of the registry makes changes durable, except acknowledgements, which the next
/// checkpoint writes.
struct ConsumerRegistry {
    private let journal: Journal
    private let store: Store
    /// Acknowledged positions that no checkpoint includes yet.
    private var acknowledged: PendingAcknowledgements

    /// The effect of a valid registration.
    enum Registration {
        /// The consumer is registered, and keeps its position.
        case known(Consumer)
        /// The consumer is to be recorded at this position.
        case new(Consumer)
    }

    init(_ journal: Journal, _ store: Store) {
        (self.journal, self.store) = (journal, store)
        acknowledged = PendingAcknowledgements(store)
    }

    // MARK: Acknowledgements

    /// Whether acknowledgements wait for a checkpoint.
    var isUnsettled: Bool { acknowledged.isUnsettled }

    /// The time of the last acknowledgement, in nanoseconds of the monotonic clock.
    var lastAcknowledged: UInt64 { acknowledged.lastRecorded }

    /// Returns the current state of all consumers, sorted by name.
    func all() throws(StoreError) -> [Consumer] { try acknowledged.all() }

    /// Writes the acknowledgements to the store's open transaction.
    func write() throws(StoreError) { try acknowledged.write() }

    /// Marks the written acknowledgements as durable.
    mutating func didCheckpoint() { acknowledged.didCheckpoint() }

    // MARK: Requests

    /// Returns the consumer with a name, or nil if there is none.
    ///
    /// Throws `usage` for an invalid name, and `storage` if the consumer can't be read.
    func consumer(named name: String) throws -> Consumer? {
        try checkName(name)
        return try StoreError.reportingDamage { () throws(StoreError) in
            try acknowledged.consumer(named: name)
        }
    }

    /// Returns the effect of registering a consumer that needs every transaction after a position.
    func registration(
        _ name: String, at position: UInt64, owner: UInt32, _ limits: DaemonLimits,
        _ counts: LimitCounters
    ) throws -> Registration {
        let known = try consumer(named: name)
        if let known, !isExpired(known) { return .known(known) }
        try checkKept(position, name)
        if known == nil { try checkRoom(forConsumerOf: owner, limits, counts) }
        return .new(Consumer(name: name, acknowledged: position, owner: known?.owner ?? owner))
    }

    private func checkRoom(
        forConsumerOf owner: UInt32, _ limits: DaemonLimits, _ counts: LimitCounters
    ) throws {
        let registered = try StoreError.reportingDamage { () throws(StoreError) in
            try store.consumers()
        }
        guard registered.count < limits.consumers else {
            throw counts.refusal(.consumers, limits, "there are too many consumers; remove one")
        }
        guard registered.count(where: { $0.owner == owner }) < limits.consumersPerUser else {
            throw counts.refusal(
                .consumersPerUser, limits, "uid \(owner) has too many consumers; remove one")
        }
    }

    /// Records that a consumer no longer needs the transactions up to a position.
    mutating func acknowledge(
        _ name: String, _ position: UInt64, at now: UInt64
    ) throws -> Consumer {
        var consumer = try registered(name)
        try checkKept(consumer.acknowledged, name)
        guard position <= journal.tail.last else {
            throw TandemError.afterEnd(position, last: journal.tail.last, .usage)
        }
        guard position > consumer.acknowledged else { return consumer }
        consumer.acknowledged = position
        acknowledged.record(consumer, at: now)
        assert(isUnsettled, "An acknowledgement waits for a checkpoint.")
        return consumer
    }

    /// Returns a consumer moved to a position, which may be an earlier one.
    func moved(_ name: String, to position: UInt64) throws -> Consumer {
        var consumer = try registered(name)
        try checkKept(position, name)
        consumer.acknowledged = position
        return consumer
    }

    // MARK: Checks

    private func registered(_ name: String) throws -> Consumer {
        if let consumer = try consumer(named: name) { return consumer }
        throw TandemError(.usage, "there is no consumer \(name); register it first")
    }

    private func isExpired(_ consumer: Consumer) -> Bool {
        consumer.acknowledged < journal.bounds.first - 1
    }

    /// Checks that a name can be printed in log lines and commands.
    private func checkName(_ name: String) throws(TandemError) {
        guard !name.isEmpty, name.utf8.count <= DaemonLimits.consumerNameBytes, name.isPrintable
        else {
            throw TandemError(
                .usage,
                "a consumer's name must have 1 to \(DaemonLimits.consumerNameBytes) bytes, and no "
                    + "invisible characters")
        }
    }

    private func checkKept(_ position: UInt64, _ name: String) throws(TandemError) {
        let bounds = journal.bounds
        guard position <= bounds.last else {
            throw TandemError.afterEnd(position, last: bounds.last, .usage)
        }
        guard position >= bounds.first - 1 else {
            throw TandemError(
                .historyExpired,
                "consumer \(name) needs position \(position + 1), but the journal begins at "
                    + "\(bounds.first); start again from a snapshot and register")
        }
    }
}
