import TandemJournal
import TandemModel
import TandemStore

/// Registered consumers: how they come, move on and go.
extension Committer {
    /// The consumer of a name as it stands, or nil; throws `usage` for what can be no name, `storage` for one that can't be read.
    func consumer(named name: String) throws -> Consumer? {
        try checkName(name)
        return try readable { () throws(StoreError) in try consumers.consumer(named: name) }
    }

    /// Registers a consumer that needs everything above a position, durable on return.
    ///
    /// One that is registered keeps its place, unless it is expired: then it begins anew. Throws
    /// `usage` for a bad name or a position beyond the end, `historyExpired` for one that is no
    /// longer kept, `limitExceeded` when there are too many, `readOnly` without room; then it is not registered.
    func register(
        _ name: String, at position: UInt64, owner: UInt32 = 0
    ) throws -> Consumer {
        let known = try consumer(named: name)
        if let known, !isExpired(known) { return known }
        try checkKept(position, name)
        if known == nil { try checkRoom(forConsumerOf: owner) }
        try reserve(name.utf8.count)
        let consumer = Consumer(
            name: name, acknowledged: position, owner: known?.owner ?? owner)
        try keep { try store.put(consumer) }
        return consumer
    }

    private func checkRoom(forConsumerOf owner: UInt32) throws {
        let registered = try readable { () throws(StoreError) in try store.consumers() }
        guard registered.count < limits.consumers else {
            throw limitCounts.refusal(
                .consumers, limits, "there are too many consumers, remove one")
        }
        guard registered.count(where: { $0.owner == owner }) < limits.consumersPerUser else {
            throw limitCounts.refusal(
                .consumersPerUser, limits, "uid \(owner) has too many consumers, remove one")
        }
    }

    /// Notes that a consumer needs nothing up to a position any more; it never goes back.
    ///
    /// Durable with the next checkpoint. Throws `usage` for a name that is not registered or a
    /// position beyond the end, `historyExpired` when the consumer is expired.
    @discardableResult
    func acknowledge(_ name: String, _ position: UInt64) throws -> Consumer {
        guard var consumer = try consumer(named: name) else {
            throw TandemError(.usage, "there is no consumer \(name); register it first")
        }
        try checkKept(consumer.acknowledged, name)
        guard position <= self.position else {
            throw TandemError(
                .usage, "position \(position) is beyond the journal's end, \(self.position)")
        }
        guard position > consumer.acknowledged else { return consumer }
        consumer.acknowledged = position
        consumers.note(consumer, at: clock.monotonicNanoseconds)
        return consumer
    }

    /// Puts a consumer at a position, also back or out of its expiry; durable on return.
    ///
    /// Throws `usage` for a name that is not registered or a position beyond the end, `historyExpired` for one that is no
    /// longer kept, `readOnly` without room; then it stays where it was.
    func reset(_ name: String, to position: UInt64) throws -> Consumer {
        guard var consumer = try consumer(named: name) else {
            throw TandemError(.usage, "there is no consumer \(name); register it first")
        }
        try checkKept(position, name)
        if let refusal = ability.refusal { throw refusal }
        consumer.acknowledged = position
        try keep { try store.put(consumer) }
        return consumer
    }

    /// Removes a consumer, durable on return; nil when there was none.
    ///
    /// Throws `readOnly` when the store has no room to note it; a journal without room does not matter, as this may make some.
    func removeConsumer(_ name: String) throws -> Consumer? {
        guard let known = try consumer(named: name) else { return nil }
        if ability.isShort(.store) || ability.isShort(.map), let refusal = ability.refusal {
            throw refusal
        }
        try keep { try store.removeConsumer(named: name) }
        return known
    }

    /// Makes a change of consumers durable, or throws `readOnly` with nothing changed.
    private func keep(_ change: () throws -> Void) throws {
        if try checkpoint(with: change) { return }
        throw ability.refusal ?? TandemError(.readOnly, "the store takes no changes")
    }

    /// What can't be read of a consumer is who asks for it told, and ends nobody else's work.
    func readable<Result>(_ read: () throws(StoreError) -> Result) throws -> Result {
        do throws(StoreError) {
            return try read()
        } catch {
            guard error.code == .damaged else { throw error }
            throw TandemError(
                .storage, "\(error.message); stop the daemon and run `tandem check --repair`")
        }
    }

    private func isExpired(_ consumer: Consumer) -> Bool {
        consumer.acknowledged < journal.bounds.first - 1
    }

    /// Names stand in lines of the log and of commands.
    private func checkName(_ name: String) throws(TandemError) {
        guard !name.isEmpty, name.utf8.count <= DaemonLimits.consumerNameBytes, name.isPrintable
        else {
            throw TandemError(
                .usage,
                "a consumer's name has 1 to \(DaemonLimits.consumerNameBytes) bytes no "
                    + "control characters, and none that is invisible")
        }
    }

    private func checkKept(_ position: UInt64, _ name: String) throws(TandemError) {
        let bounds = journal.bounds
        guard position <= bounds.last else {
            throw TandemError(
                .usage, "position \(position) is beyond the journal's end, \(bounds.last)")
        }
        guard position >= bounds.first - 1 else {
            throw TandemError(
                .historyExpired,
                "consumer \(name) needs position \(position + 1), the journal begins at "
                    + "\(bounds.first): start again from a snapshot and register")
        }
    }
}
