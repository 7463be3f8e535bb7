/// A configurable limit: `limits.NAME` in the configuration, NAME in errors and in the status.
package enum Limit: String, CaseIterable, Hashable, Sendable {
    /// The number of connections.
    case connections
    /// The number of connections of one user.
    case connectionsPerUser
    /// The time until the hello.
    case handshakeMilliseconds
    /// The payload of a client's frame.
    case frameBytes
    /// The number of unanswered requests.
    case requestsInFlight
    /// The size of queued requests while a client doesn't read.
    case inboundBytes
    /// The size of incomplete messages.
    case unfinishedBytes
    /// The size of incomplete messages of one user.
    case unfinishedBytesPerUser
    /// The time from the first to the last bytes of a message.
    case messageMilliseconds
    /// The size of the output queued for a client.
    case outboundBytes
    /// The number of open controllers.
    case controllers
    /// The size of a URL.
    case attributeBytes
    /// The size of a blob.
    case blobBytes
    /// The size of a transaction.
    case transactionBytes
    /// The number of object numbers in a lease.
    case leaseNumbers
    /// The number of remembered save ids.
    case savesKept
    /// The number of saves in a batch.
    case batchSaves
    /// The size of a batch.
    case batchBytes
    /// The time without a save before a checkpoint.
    case checkpointIdleMilliseconds
    /// The time between checkpoints.
    case checkpointMilliseconds
    /// The number of dirty pages before a checkpoint.
    case checkpointPages
    /// The number of transactions in the ring.
    case ringTransactions
    /// The size of the ring.
    case ringBytes
    /// The number of sort keys of a request.
    case sortKeys
    /// The number of comparisons of a predicate.
    case comparisons
    /// The size of a constant in a predicate.
    case constantBytes
    /// The number of concurrent reads.
    case readerThreads
    /// The duration of a read while other clients save.
    case snapshotMilliseconds
    /// The size of other clients' commits during a read.
    case snapshotBytes
    /// The number of read transactions on the store.
    case storeReaders
    /// The number of transactions or objects that history and batches read in one slice.
    case sliceReads
    /// The number of related objects read for one candidate.
    case objectReads
    /// The number of related objects read for all candidates of a request.
    case requestReads
    /// The memory of reads and unsent answers.
    case readBytes
    /// The number of transactions that a read at an earlier position undoes.
    case lookBackTransactions
    /// The number of pins of a connection.
    case pinsPerConnection
    /// The lifetime of an unmoved pin.
    case pinSeconds
    /// The number of transactions that a verdict request covers.
    case verdictTransactions
    /// The number of transactions in a history answer.
    case historyTransactions
    /// The size of a history answer.
    case historyBytes
    /// The number of registered consumers.
    case consumers
    /// The number of registered consumers of one user.
    case consumersPerUser
    /// The number of objects of a batch.
    case batchObjects
    /// The number of queued batches of a connection.
    case batchesPerConnection
    /// The number of queued batches of a user.
    case batchesPerUser
}

extension Limit {
    /// The properties of a limit.
    struct Facts {
        var path: any WritableKeyPath<DaemonLimits, Int> & Sendable
        var unit: SettingUnit
        var range: ClosedRange<Int>
        var summary: String
        /// The daemon's reaction when the limit is reached.
        var reached: String
    }

    var facts: Facts {
        switch self {
        case .connections:
            facts(
                \.connections, .count, 1...65_536, "connections in total", "limitExceeded, closed")
        case .connectionsPerUser:
            facts(
                \.connectionsPerUser, .count, 1...65_536, "connections of one user",
                "limitExceeded, closed")
        case .handshakeMilliseconds:
            facts(
                \.handshakeMilliseconds, .milliseconds, 10...600_000,
                "time from the connection to the hello", "timeout, closed")
        case .frameBytes:
            facts(
                \.frameBytes, .bytes, 4_096...1 << 20, "payload of one frame from a client",
                "limitExceeded, closed")
        case .requestsInFlight:
            facts(
                \.requestsInFlight, .count, 2...1_024,
                "unanswered requests of one connection", "limitExceeded")
        case .inboundBytes:
            facts(
                \.inboundBytes, .bytes, 4_096...1 << 30,
                "size of the queued requests of one connection that does not read its answers, "
                    + "and of the queued batches of one user",
                "limitExceeded; a connection that does not read is closed")
        case .unfinishedBytes:
            facts(
                \.unfinishedBytes, .bytes, 4_096...1 << 40,
                "size of incomplete messages of all connections",
                "limitExceeded, closed")
        case .unfinishedBytesPerUser:
            facts(
                \.unfinishedBytesPerUser, .bytes, 4_096...1 << 40,
                "size of incomplete messages of one user", "limitExceeded, closed")
        case .messageMilliseconds:
            facts(
                \.messageMilliseconds, .milliseconds, 10...600_000,
                "time from the first to the last bytes of a message", "timeout, closed")
        case .outboundBytes:
            facts(
                \.outboundBytes, .bytes, 4_096...1 << 30,
                "bytes waiting to be sent to one connection",
                "pushes wait in the journal until the client reads")
        case .controllers:
            facts(
                \.controllers, .count, 1...4_096, "open controllers of one connection",
                "limitExceeded")
        default: contentFacts
        }
    }

    private var contentFacts: Facts {
        switch self {
        case .attributeBytes:
            facts(\.attributeBytes, .bytes, 256...65_536, "size of one URL", "validation")
        case .blobBytes:
            facts(
                \.blobBytes, .bytes, 65_536...16 << 20, "size of one text or data value",
                "validation"
            )
        case .transactionBytes:
            facts(
                \.transactionBytes, .bytes, 65_536...16 << 20,
                "size of one transaction without its blobs, and size of its blobs", "limitExceeded")
        case .leaseNumbers:
            facts(
                \.leaseNumbers, .count, 1...1 << 20, "object numbers in one lease",
                "the lease is shortened")
        case .savesKept:
            facts(
                \.savesKept, .count, 1...1 << 40,
                "transactions for which save ids are remembered", "unknownOutcome")
        case .verdictTransactions:
            facts(
                \.verdictTransactions, .count, 1...1 << 30,
                "transactions that one verdict request covers", "historyExpired")
        case .historyTransactions:
            facts(
                \.historyTransactions, .count, 1...65_536, "transactions in one history answer",
                "the client requests the rest")
        case .historyBytes:
            facts(
                \.historyBytes, .bytes, 4_096...512 << 20, "size of one history answer",
                "the client requests the rest")
        case .sortKeys:
            facts(\.sortKeys, .count, 1...4_096, "sort keys of a request", "limitExceeded")
        case .comparisons:
            facts(
                \.comparisons, .count, 1...10_000,
                "comparisons of a predicate; an `IN` counts as one, whatever the length of its list",
                "limitExceeded")
        case .constantBytes:
            facts(
                \.constantBytes, .bytes, 256...16 << 20,
                "size of a text or data constant in a predicate", "limitExceeded")
        case .sliceReads:
            facts(
                \.sliceReads, .count, 1...1 << 30,
                "transactions read for a history answer, or objects evaluated for a batch, in one turn",
                "the batch continues in the next turn; the client requests the rest of the history")
        case .readerThreads:
            facts(
                \.readerThreads, .count, 0...256,
                "concurrent reads; 0 means the number of cores minus one, but at least one",
                "reads wait for their turn")
        case .snapshotMilliseconds:
            facts(
                \.snapshotMilliseconds, .milliseconds, 10...3_600_000,
                "duration of a read while other clients save; its snapshot makes the file grow",
                "timeout; the client can read again")
        case .snapshotBytes:
            facts(
                \.snapshotBytes, .bytes, 65_536...1 << 40,
                "bytes that other clients commit during a read; its snapshot makes the file grow",
                "timeout; the client can read again")
        case .storeReaders:
            facts(
                \.storeReaders, .count, 2...65_536,
                "read transactions on the store, of the daemon and of tools",
                "reads wait for their turn")
        case .objectReads:
            facts(
                \.objectReads, .count, 1...1 << 30,
                "related objects that a request reads for one candidate; eight members that are only "
                    + "listed count as one object",
                "limitExceeded")
        case .requestReads:
            facts(
                \.requestReads, .count, 1...1 << 40,
                "related objects that a request reads for all its candidates", "limitExceeded")
        case .readBytes:
            facts(
                \.readBytes, .bytes, 4_096...1 << 40,
                "memory of one read, of all running reads, and of all unsent answers",
                "limitExceeded for reads that hold much of it, and for answers that clients do not read"
            )
        case .lookBackTransactions:
            facts(
                \.lookBackTransactions, .count, 1...1 << 40,
                "transactions that a read at an earlier position undoes", "limitExceeded")
        case .pinsPerConnection:
            facts(
                \.pinsPerConnection, .count, 1...65_536, "pinned positions of one connection",
                "limitExceeded")
        case .pinSeconds:
            facts(
                \.pinSeconds, .seconds, 1...2_592_000, "lifetime of a pin that is not moved",
                "historyExpired for reads at the pin")
        case .consumers:
            facts(\.consumers, .count, 1...65_536, "registered consumers", "limitExceeded")
        case .consumersPerUser:
            facts(
                \.consumersPerUser, .count, 1...65_536, "registered consumers of one user",
                "limitExceeded")
        case .batchObjects:
            facts(
                \.batchObjects, .count, 1...1 << 26,
                "objects that one batch delete or update can find", "limitExceeded")
        case .batchesPerConnection:
            facts(
                \.batchesPerConnection, .count, 1...1_024,
                "waiting batches of one connection besides the running one", "limitExceeded")
        case .batchesPerUser:
            facts(
                \.batchesPerUser, .count, 1...65_536,
                "waiting batches of one user besides the running one", "limitExceeded")
        default: paceFacts
        }
    }

    private var paceFacts: Facts {
        switch self {
        case .batchSaves:
            facts(\.batchSaves, .count, 1...65_536, "saves in one batch", "the batch is flushed")
        case .batchBytes:
            facts(
                \.batchBytes, .bytes, 4_096...64 << 20, "size of one batch", "the batch is flushed")
        case .checkpointIdleMilliseconds:
            facts(
                \.checkpointIdleMilliseconds, .milliseconds, 1...60_000,
                "time without a save after which a checkpoint is made", "a checkpoint is made")
        case .checkpointMilliseconds:
            facts(
                \.checkpointMilliseconds, .milliseconds, 1...60_000,
                "time between checkpoints while there are saves", "a checkpoint is made")
        case .checkpointPages:
            facts(
                \.checkpointPages, .count, 16...100_000,
                "dirty pages at which a checkpoint is made",
                "a checkpoint is made")
        case .ringTransactions:
            facts(
                \.ringTransactions, .count, 1...1 << 24, "transactions kept in memory",
                "older ones are read from the journal")
        case .ringBytes:
            facts(
                \.ringBytes, .bytes, 4_096...16 << 30, "size of transactions kept in memory",
                "older ones are read from the journal")
        default: preconditionFailure("\(self) is described above.")
        }
    }

    private func facts(
        _ path: any WritableKeyPath<DaemonLimits, Int> & Sendable, _ unit: SettingUnit,
        _ range: ClosedRange<Int>, _ summary: String, _ reached: String
    ) -> Facts {
        Facts(path: path, unit: unit, range: range, summary: summary, reached: reached)
    }
}

extension DaemonLimits {
    /// The value of a limit.
    package subscript(limit: Limit) -> Int {
        get { self[keyPath: limit.facts.path] }
        set { self[keyPath: limit.facts.path] = newValue }
    }
}
