import TandemJournal
import TandemModel
import TandemStore

/// Registered consumers: how they come, move on and go.
extension Committer {
    /// Registers a consumer that needs everything above a position, durable on return.
    ///
    /// One that is registered keeps its place, unless it is expired: then it begins anew. Throws
    /// `usage` for a bad name or a position beyond the end, `historyExpired` for one that is no
    /// longer kept, `limitExceeded` when there are too many.
    func register(_ name: String, at position: UInt64) throws -> Consumer {
        guard !name.isEmpty, name.utf8.count <= DaemonLimits.consumerNameBytes else {
            throw TandemError(
                .usage,
                "a consumer's name has 1 to \(DaemonLimits.consumerNameBytes) bytes")
        }
        if let known = try store.consumer(named: name), !isExpired(known) { return known }
        try checkKept(position, name)
        guard try store.consumers().count < limits.consumers else {
            throw TandemError(
                .limitExceeded, "there are \(limits.consumers) consumers; remove one")
        }
        let consumer = Consumer(name: name, acknowledged: position)
        try growing { try store.put(consumer) }
        try checkpoint()
        return consumer
    }

    /// Notes that a consumer needs nothing up to a position any more; it never goes back.
    ///
    /// Durable with the next checkpoint. Throws `usage` for a name that is not registered or a
    /// position beyond the end, `historyExpired` when the consumer is expired.
    func acknowledge(_ name: String, _ position: UInt64) throws {
        guard let known = try store.consumer(named: name) else {
            throw TandemError(.usage, "there is no consumer \(name); register it first")
        }
        try checkKept(known.acknowledged, name)
        guard position <= self.position else {
            throw TandemError(
                .usage, "position \(position) is beyond the journal's end, \(self.position)")
        }
        guard position > known.acknowledged else { return }
        try growing { try store.put(Consumer(name: name, acknowledged: position)) }
    }

    /// Removes a consumer, durable on return; false when there was none.
    func removeConsumer(_ name: String) throws -> Bool {
        let wasThere = try growing { try store.removeConsumer(named: name) }
        if wasThere { try checkpoint() }
        return wasThere
    }

    private func isExpired(_ consumer: Consumer) -> Bool {
        consumer.acknowledged < journal.bounds.first - 1
    }

    private func checkKept(_ position: UInt64, _ name: String) throws {
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
