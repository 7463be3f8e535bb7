import TandemModel
import TandemStore

/// Registration, acknowledgement, reset and removal of consumers.
extension Committer {
    /// Returns the consumer with a name, or nil if there is none.
    ///
    /// Throws `usage` for an invalid name, and `storage` if the consumer can't be read.
    func consumer(named name: String) throws -> Consumer? {
        try consumers.consumer(named: name)
    }

    /// Registers a consumer that needs every transaction after a position; durable on return.
    ///
    /// A consumer that is already registered keeps its position, unless it is expired: then it
    /// starts again at `position`. After an error nothing has changed. Throws:
    /// - `usage` for an invalid name or a position after the tail;
    /// - `historyExpired` for a position that was removed;
    /// - `limitExceeded` if there are too many consumers;
    /// - `readOnly` for lack of room.
    func register(
        _ name: String, at position: UInt64, owner: UInt32 = 0
    ) throws -> Consumer {
        switch try consumers.registration(name, at: position, owner: owner, limits, limitCounters) {
        case .known(let consumer): return consumer
        case .new(let consumer):
            try reserve(name.utf8.count)
            try keep { try store.put(consumer) }
            return consumer
        }
    }

    /// Moves a consumer to a position; durable on return.
    ///
    /// The position may be an earlier one. An expired consumer is no longer expired afterwards.
    /// Throws `usage` for an unregistered name or a position after the tail, `historyExpired` for a
    /// position that was removed, and `readOnly` for lack of room. After an error the position is
    /// unchanged.
    func reset(_ name: String, to position: UInt64) throws -> Consumer {
        let consumer = try consumers.moved(name, to: position)
        if let refusal = readOnlyState.refusal { throw refusal }
        try keep { try store.put(consumer) }
        return consumer
    }

    /// Removes a consumer, durable on return; returns nil if there is none.
    ///
    /// Throws `readOnly` if the store has no room for the removal. A shortage of the journal does
    /// not prevent the removal, which may end the shortage.
    func removeConsumer(_ name: String) throws -> Consumer? {
        guard let known = try consumer(named: name) else { return nil }
        if shortages.isStoreShort, let refusal = readOnlyState.refusal { throw refusal }
        try keep { try store.removeConsumer(named: name) }
        return known
    }

    /// Makes a change to the consumers durable, or throws `readOnly` with nothing changed.
    private func keep(_ change: () throws -> Void) throws {
        if try checkpoint(with: change) { return }
        throw readOnlyState.refusal ?? TandemError(.readOnly, "the store accepts no changes")
    }
}
