import TandemJournal
import TandemModel
import TandemStore

/// Registration, acknowledgement, reset and removal of consumers.
extension Committer {
    /// Returns the consumer with a name, or nil if there is none.
    ///
    /// Throws `usage` for an invalid name, `storage` if the consumer can't be read.
    func consumer(named name: String) throws -> Consumer? {
        try checkName(name)
        return try readable { () throws(StoreError) in try consumers.consumer(named: name) }
    }

    /// Registers a consumer that needs every transaction after a position; durable on return.
    ///
    /// A registered consumer keeps its position, unless it is expired: then it starts again at
    /// `position`. Throws `usage` for an invalid name or a position after the tail,
    /// `historyExpired` for a position that was removed, `limitExceeded` if there are too many
    /// consumers, `readOnly` for lack of room. After an error nothing has changed.
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
            throw limitCounters.refusal(
                .consumers, limits, "there are too many consumers; remove one")
        }
        guard registered.count(where: { $0.owner == owner }) < limits.consumersPerUser else {
            throw limitCounters.refusal(
                .consumersPerUser, limits, "uid \(owner) has too many consumers; remove one")
        }
    }

    /// Records that a consumer no longer needs the transactions up to a position; the position
    /// never moves back.
    ///
    /// Durable with the next checkpoint. Throws `usage` for an unregistered name or a position
    /// after the tail, `historyExpired` if the consumer is expired.
    @discardableResult
    func acknowledge(_ name: String, _ position: UInt64) throws -> Consumer {
        guard var consumer = try consumer(named: name) else {
            throw Self.noConsumer(name)
        }
        try checkKept(consumer.acknowledged, name)
        guard position <= self.position else {
            throw TandemError.afterEnd(position, last: self.position, .usage)
        }
        guard position > consumer.acknowledged else { return consumer }
        consumer.acknowledged = position
        consumers.record(consumer, at: clock.monotonicNanoseconds)
        return consumer
    }

    /// Moves a consumer to a position; durable on return.
    ///
    /// The move may go back, and ends an expiry. Throws `usage` for an unregistered name or a
    /// position after the tail, `historyExpired` for a position that was removed, `readOnly` for
    /// lack of room. After an error the position is unchanged.
    func reset(_ name: String, to position: UInt64) throws -> Consumer {
        guard var consumer = try consumer(named: name) else {
            throw Self.noConsumer(name)
        }
        try checkKept(position, name)
        if let refusal = readOnlyState.refusal { throw refusal }
        consumer.acknowledged = position
        try keep { try store.put(consumer) }
        return consumer
    }

    /// Removes a consumer, durable on return; returns nil if there is none.
    ///
    /// Throws `readOnly` if the store has no room for the removal. A journal without room does not
    /// prevent the removal, which may free some.
    func removeConsumer(_ name: String) throws -> Consumer? {
        guard let known = try consumer(named: name) else { return nil }
        if readOnlyState.isShort(.store) || readOnlyState.isShort(.map),
            let refusal = readOnlyState.refusal
        {
            throw refusal
        }
        try keep { try store.removeConsumer(named: name) }
        return known
    }

    /// Makes a change to the consumers durable, or throws `readOnly` with nothing changed.
    private func keep(_ change: () throws -> Void) throws {
        if try checkpoint(with: change) { return }
        throw readOnlyState.refusal ?? TandemError(.readOnly, "the store accepts no changes")
    }

    /// Runs `read`, and reports damage to the caller only, so that other clients are unaffected.
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

    private static func noConsumer(_ name: String) -> TandemError {
        TandemError(.usage, "there is no consumer \(name); register it first")
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
