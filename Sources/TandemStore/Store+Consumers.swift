import TandemModel

/// A named reader of the journal that says how far it has got, so that retention keeps the rest.
public struct Consumer: Hashable, Sendable {
    /// What it is known by.
    public var name: String
    /// The last position that it needs no more.
    public var acknowledged: UInt64

    /// A consumer at a position.
    public init(name: String, acknowledged: UInt64) {
        self.name = name
        self.acknowledged = acknowledged
    }
}

/// The table of consumers: operational state, no part of the dump (law 6).
///
/// Written into the open transaction, so durable with the next checkpoint. A floor that a crash puts
/// back does no harm: retention gives up only what a checkpoint says is acknowledged.
extension Store {
    /// All consumers, by name.
    public func consumers() throws(StoreError) -> [Consumer] {
        var found: [Consumer] = []
        try current.scan(tables.consumers, from: []) { key, value in
            guard value.count == 8 else { return true }
            found.append(
                Consumer(
                    name: String(decoding: key, as: UTF8.self),
                    acknowledged: value.bigEndian(0, as: UInt64.self)))
            return true
        }
        return found
    }

    /// The consumer of a name, or nil.
    public func consumer(named name: String) throws(StoreError) -> Consumer? {
        guard let value = try current.get(tables.consumers, Array(name.utf8)), value.count == 8
        else { return nil }
        return Consumer(name: name, acknowledged: value.bigEndian(0, as: UInt64.self))
    }

    /// Registers a consumer, or sets the position of the one that has its name.
    ///
    /// The name has 1 to 511 bytes, as LMDB's keys have.
    public func put(_ consumer: Consumer) throws(StoreError) {
        try current.put(
            tables.consumers, Array(consumer.name.utf8), StoreKey.number(consumer.acknowledged))
    }

    /// Removes a consumer; false when there was none of the name.
    @discardableResult
    public func removeConsumer(named name: String) throws(StoreError) -> Bool {
        try current.delete(tables.consumers, Array(name.utf8))
    }
}
