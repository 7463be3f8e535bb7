import TandemStore

/// The consumers' acknowledgements since the last checkpoint, which writes them to the store.
///
/// As a result, the store's record of consumers is durable whenever retention reads it, an
/// acknowledgement costs no write, and no acknowledgement is lost if the store is reverted.
struct PendingAcknowledgements {
    private let store: Store
    /// The consumers by the bytes of their names, since equal strings may be different names in the
    /// store.
    private var moved: [[UInt8]: Consumer] = [:]
    /// The time of the last acknowledgement, in nanoseconds of the monotonic clock.
    private(set) var lastRecorded: UInt64 = 0

    init(_ store: Store) { self.store = store }

    /// Whether acknowledgements wait for a checkpoint.
    var isUnsettled: Bool { !moved.isEmpty }

    /// Returns the current state of a consumer, or nil if there is none.
    func consumer(named name: String) throws(StoreError) -> Consumer? {
        if let consumer = moved[Array(name.utf8)] { return consumer }
        return try store.consumer(named: name)
    }

    /// Returns the current state of all consumers, sorted by name.
    func all() throws(StoreError) -> [Consumer] {
        try store.consumers().map { moved[Array($0.name.utf8)] ?? $0 }
    }

    /// Records the acknowledgement of a registered consumer.
    mutating func record(_ consumer: Consumer, at time: UInt64) {
        moved[Array(consumer.name.utf8)] = consumer
        lastRecorded = time
    }

    /// Writes the acknowledgements to the store's open transaction.
    ///
    /// If that transaction is reverted, the acknowledgements must be written again.
    func write() throws(StoreError) {
        for consumer in moved.values { try store.put(consumer) }
    }

    /// Marks the written acknowledgements as durable.
    mutating func didCheckpoint() { moved.removeAll() }
}
