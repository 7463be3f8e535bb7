import TandemModel

/// A named reader of the journal, whose acknowledged position limits retention.
package struct Consumer: Hashable, Sendable {
    /// The name under which the consumer is registered.
    package var name: String
    /// The last position that the consumer no longer needs.
    package var acknowledged: UInt64
    /// The id of the user who registered the consumer.
    package var owner: UInt32

    /// Creates a consumer with a name, an acknowledged position and an owner.
    package init(name: String, acknowledged: UInt64, owner: UInt32 = 0) {
        self.name = name
        self.acknowledged = acknowledged
        self.owner = owner
    }

    /// Decodes a table entry; nil if the name is not UTF-8 or the value has a wrong length.
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

    /// Returns the name in a key, or the key in hexadecimal if it is not UTF-8.
    static func name(_ key: [UInt8]) -> String {
        String(validating: key, as: UTF8.self) ?? key.withUnsafeBytes { StoreKey.hex($0) }
    }
}

/// The table of consumers, which is operational state and not part of the dump (law 6).
///
/// Changes go into the open write transaction, and are durable after the next checkpoint. The
/// daemon writes them only right before a checkpoint, so the positions that it reads here are
/// durable. Retention relies on that.
struct ConsumerTable {
    private let table: LMDBTable
    private let decoder: EntryDecoder

    init(_ table: LMDBTable, _ decoder: EntryDecoder) {
        self.table = table
        self.decoder = decoder
    }

    /// Returns all consumers, sorted by name; throws `damaged` if one of them can't be read.
    func all(_ open: LMDBTransaction) throws(StoreError) -> [Consumer] {
        var found: [Consumer] = []
        try open.scan(table, from: []) { (key, value) throws(StoreError) -> Bool in
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
    func consumer(
        named name: String, _ open: LMDBTransaction
    ) throws(StoreError) -> Consumer? {
        let key = Array(name.utf8)
        guard let value = try open.get(table, key) else { return nil }
        guard let consumer = key.withUnsafeBytes({ Consumer(key: $0, value: value) }) else {
            throw damaged(key, value.count)
        }
        return consumer
    }

    private func damaged(_ key: [UInt8], _ count: Int) -> StoreError {
        decoder.damaged(
            .consumers, 0, "a position of \(count) bytes for the consumer \(Consumer.name(key))")
    }

    /// Registers a consumer, or replaces the one with the same name.
    func put(_ consumer: Consumer, _ open: LMDBTransaction) throws(StoreError) {
        try open.put(table, Array(consumer.name.utf8), consumer.value)
    }

    /// Removes a consumer; returns false if there is none with that name.
    func remove(named name: String, _ open: LMDBTransaction) throws(StoreError) -> Bool {
        try open.delete(table, Array(name.utf8))
    }
}
