import TandemModel

/// Every limit of the daemon by name, with its value.
public enum DaemonLimits {
    /// Connections in all.
    public static let connections = 4_096
    /// Connections of one user.
    public static let connectionsPerUser = 1_024
    /// A connection that has not said hello after this long is closed.
    public static let handshakeSeconds = 5
    /// Bytes of an attribute value in a row; a text or URL has no more, longer data is a blob.
    public static let attributeBytes = BlobReference.inlineLimit
    /// Bytes of a blob.
    public static let blobBytes = 16 << 20
    /// Bytes of a transaction apart from its blobs, and of its blobs.
    public static let transactionBytes = 16 << 20
    /// Numbers in a lease.
    public static let leaseNumbers: UInt32 = 4_096
    /// Numbers made durable ahead of leases, so that a hello does not wait for the disk.
    public static let leaseReserve: UInt32 = 64 * 4_096
    /// Segments of the journal that are read whole at the start; of more, only what recovery needs.
    ///
    /// At 64 MiB each these are some ten seconds.
    public static let segmentsVerified = 64
    /// Saves in one batch: bounds the wait of the first for the last.
    public static let batchSaves = 1_024
    /// Bytes in one batch.
    public static let batchBytes = 4 << 20
    /// Bytes waiting to be sent to a client; above it the session stays a cursor until the client reads.
    public static let outboundBytes = 1 << 20
    /// Bytes of pushes queued for a session in one of its turns, which its socket takes in as few writes.
    public static let turnBytes = 128 << 10
    /// Transactions considered for a session in one of its turns.
    public static let turnTransactions = 512
    /// Requests other than saves answered to a session in one of its turns.
    public static let requestsInTurn = 8
    /// Sessions that ask and sessions that follow which are served before sockets are looked at for saves again.
    public static let sliceSessions = 16
    /// Bytes sent to each of the two kinds before sockets are looked at for saves again.
    public static let sliceBytes = 256 << 10
    /// Saves of one session planned before sockets are looked at for those of others.
    public static let savesInTurn = 16
    /// Bytes of pushes kept in memory, each made once for all who follow the same entities.
    public static let pushCacheBytes = 8 << 20
    /// Transactions kept in memory for sessions at the tail.
    public static let ringTransactions = 8_192
    /// Bytes of transactions kept in memory for sessions at the tail.
    public static let ringBytes = 16 << 20
    /// So often sockets are looked at again for saves that a flush can take along.
    public static let gatherRounds = 4
    /// A checkpoint is due after this long without a save.
    public static let checkpointIdleMilliseconds: UInt64 = 100
    /// A checkpoint is due after this long in any case.
    public static let checkpointMilliseconds: UInt64 = 1_000
    /// A checkpoint is due at about this many dirty pages: the longest stall of a save, and far below LMDB's spill limit.
    public static let checkpointPages = 16_384
    /// What keeps the daemon's thread for longer than this is noted for its status.
    public static let stallNanoseconds: UInt64 = 1_000_000
    /// Of what is noted so, the longest ones are kept.
    public static let stallsKept = 256
    /// How long a full disk is left alone before room is asked for again.
    public static let spaceRetryNanoseconds: UInt64 = 1_000_000_000
    /// Transactions between a question for verdicts and its answer; who is further behind fetches anew.
    public static let verdictTransactions: UInt64 = 20_000
    /// Consumers of the journal that can be registered.
    public static let consumers = 256
    /// Bytes of a consumer's name.
    public static let consumerNameBytes = 128
    /// Journal segments given up after one checkpoint, so that nobody waits long for the disk.
    public static let trimmedSegments = 8
    /// Transactions in one history answer.
    public static let historyTransactions = 4_096
    /// Bytes in one history answer.
    public static let historyBytes = 8 << 20
    /// Readers of the store that died are looked for at most this often.
    public static let readerCheckNanoseconds: UInt64 = 60_000_000_000
    /// A reader of the store that lags this many checkpoints is named in the log.
    public static let readerLag: UInt64 = 100
    /// The log has a warning when this much of the store's map is in use.
    public static let mapAlertPercent = 70
}
