import TandemStore

/// Knows what consumers acknowledged since the last checkpoint, which puts it into the store.
///
/// So what the store says of them is durable whenever retention asks it, an acknowledgement costs no write, and none is lost
/// when the store has to go back to its last checkpoint.
struct ConsumerBook {
    private let store: Store
    /// By the bytes of their names, as the store has them: strings that look alike may be two names.
    private var moved: [[UInt8]: Consumer] = [:]
    /// When one was last noted, in nanoseconds of the monotonic clock.
    private(set) var lastNoted: UInt64 = 0

    init(_ store: Store) { self.store = store }

    /// Whether anything waits for a checkpoint.
    var isUnsettled: Bool { !moved.isEmpty }

    /// A consumer as it stands, or nil.
    func consumer(named name: String) throws(StoreError) -> Consumer? {
        if let consumer = moved[Array(name.utf8)] { return consumer }
        return try store.consumer(named: name)
    }

    /// All consumers as they stand, by name.
    func all() throws(StoreError) -> [Consumer] {
        try store.consumers().map { moved[Array($0.name.utf8)] ?? $0 }
    }

    /// Notes what a registered consumer acknowledged.
    mutating func note(_ consumer: Consumer, at time: UInt64) {
        moved[Array(consumer.name.utf8)] = consumer
        lastNoted = time
    }

    /// Puts what was noted into the store's open transaction; it may have to be done again until that is committed.
    func write() throws(StoreError) {
        for consumer in moved.values { try store.put(consumer) }
    }

    /// Notes that what was written is durable.
    mutating func settle() { moved.removeAll() }
}
