import TandemModel

/// A named reader of the journal that says how far it has got, so that retention keeps the rest.
public struct Consumer: Hashable, Sendable {
    /// What it is known by.
    public var name: String
    /// The last position that it needs no more.
    public var acknowledged: UInt64
    /// The user who registered it.
    public var owner: UInt32

    /// A consumer of a user, at a position.
    public init(name: String, acknowledged: UInt64, owner: UInt32 = 0) {
        self.name = name
        self.acknowledged = acknowledged
        self.owner = owner
    }

    /// The consumer in the table; nil where the name is no text or the position no number.
    init?(key: UnsafeRawBufferPointer, value: UnsafeRawBufferPointer) {
        guard value.count == 12, let name = String(validating: key, as: UTF8.self) else {
            return nil
        }
        self.init(
            name: name, acknowledged: value.bigEndian(0, as: UInt64.self),
            owner: value.bigEndian(8, as: UInt32.self))
    }

    /// The value in the table.
    var value: [UInt8] {
        StoreKey.number(acknowledged) + withUnsafeBytes(of: owner.bigEndian) { Array($0) }
    }

    /// A key as people read it.
    static func name(_ key: [UInt8]) -> String {
        String(validating: key, as: UTF8.self) ?? key.withUnsafeBytes { StoreKey.hex($0) }
    }
}

/// The table of consumers: operational state, no part of the dump (law 6).
///
/// Written into the open transaction, so durable with the next checkpoint. The daemon writes them only right before
/// one, so that what it reads here is durable: retention gives up nothing else.
extension Store {
    /// All consumers, by name.
    ///
    /// Throws `damaged` for one that can't be read, so that nothing is given up that it may need.
    public func consumers() throws(StoreError) -> [Consumer] {
        var found: [Consumer] = []
        try current.scan(tables.consumers, from: []) { (key, value) throws(StoreError) -> Bool in
            guard let consumer = Consumer(key: key, value: value) else {
                throw damaged(Array(key), value.count)
            }
            found.append(consumer)
            return true
        }
        return found
    }

    /// The consumer of a name, or nil.
    ///
    /// Throws `damaged` where its position can't be read.
    public func consumer(named name: String) throws(StoreError) -> Consumer? {
        let key = Array(name.utf8)
        guard let value = try current.get(tables.consumers, key) else { return nil }
        guard let consumer = key.withUnsafeBytes({ Consumer(key: $0, value: value) }) else {
            throw damaged(key, value.count)
        }
        return consumer
    }

    private func damaged(_ key: [UInt8], _ count: Int) -> StoreError {
        damaged(
            .consumers, 0, "a position of \(count) bytes for the consumer \(Consumer.name(key))")
    }

    /// Registers a consumer, or sets the position of the one that has its name.
    ///
    /// The name has 1 to 511 bytes, as LMDB's keys have.
    public func put(_ consumer: Consumer) throws(StoreError) {
        try current.put(tables.consumers, Array(consumer.name.utf8), consumer.value)
    }

    /// Removes a consumer; false when there was none of the name.
    @discardableResult
    public func removeConsumer(named name: String) throws(StoreError) -> Bool {
        try current.delete(tables.consumers, Array(name.utf8))
    }
}
