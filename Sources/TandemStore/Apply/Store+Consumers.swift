import TandemModel

/// A named reader of the journal, whose acknowledged position limits retention.
public struct Consumer: Hashable, Sendable {
    /// The name under which the consumer is registered.
    public var name: String
    /// The last position that the consumer no longer needs.
    public var acknowledged: UInt64
    /// The id of the user who registered the consumer.
    public var owner: UInt32

    /// Creates a consumer with a name, an acknowledged position and an owner.
    public init(name: String, acknowledged: UInt64, owner: UInt32 = 0) {
        self.name = name
        self.acknowledged = acknowledged
        self.owner = owner
    }

    /// Decodes a table entry; nil if the name is not UTF-8 or the value has another length.
    init?(key: UnsafeRawBufferPointer, value: UnsafeRawBufferPointer) {
        guard value.count == 12, let name = String(validating: key, as: UTF8.self) else {
            return nil
        }
        self.init(
            name: name, acknowledged: value.bigEndian(0, as: UInt64.self),
            owner: value.bigEndian(8, as: UInt32.self))
    }

    /// The encoded value of the table entry.
    var value: [UInt8] {
        StoreKey.number(acknowledged) + withUnsafeBytes(of: owner.bigEndian) { Array($0) }
    }

    /// Returns a key in readable form: as text, or in hexadecimal if it is not UTF-8.
    static func name(_ key: [UInt8]) -> String {
        String(validating: key, as: UTF8.self) ?? key.withUnsafeBytes { StoreKey.hex($0) }
    }
}

/// The table of consumers, which is operational state and not part of the dump (law 6).
///
/// Changes go into the open write transaction, and are durable after the next checkpoint. The
/// daemon writes them only right before a checkpoint, so the positions that it reads here are
/// durable. Retention relies on that.
extension Store {
    /// Returns all consumers, sorted by name.
    ///
    /// Throws `damaged` if any can't be read, so that no segment that it may need is removed.
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

    /// Returns the consumer with a name, or nil if there is none.
    ///
    /// Throws `damaged` if its position can't be read.
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

    /// Registers a consumer, or replaces the one with the same name.
    ///
    /// The name must have 1 to 511 bytes, the limits of an LMDB key.
    public func put(_ consumer: Consumer) throws(StoreError) {
        try current.put(tables.consumers, Array(consumer.name.utf8), consumer.value)
    }

    /// Removes a consumer; returns false if there is none with that name.
    @discardableResult
    public func removeConsumer(named name: String) throws(StoreError) -> Bool {
        try current.delete(tables.consumers, Array(name.utf8))
    }
}
