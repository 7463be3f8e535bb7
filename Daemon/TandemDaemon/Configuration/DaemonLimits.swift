import TandemIO
import TandemModel
import TandemWire

/// Every limit of the daemon by name: what a configuration may set, and below it what it may not.
///
///     var limits = DaemonLimits()
///     limits.connectionsPerUser = 16
public struct DaemonLimits: Hashable, Sendable {
    // MARK: Connections

    /// Connections in all.
    public var connections = 4_096
    /// Connections of one user.
    public var connectionsPerUser = 1_024
    /// A connection that has not said hello after this long is closed.
    public var handshakeMilliseconds = Int(WireLimits.handshakeMilliseconds)
    /// The payload of one frame from a client; the welcome says so.
    public var frameBytes = WireLimits.frameBytes
    /// Requests of one connection without an answer; the welcome says so.
    public var requestsInFlight = WireLimits.requestsInFlight
    /// Bytes of requests of one connection that may wait while it does not read its answers, and of one user's batches
    /// that wait for their turn.
    public var inboundBytes = WireLimits.inboundQueueBytes
    /// Bytes of messages that did not arrive completely, of all connections; one message has at most ``transactionBytes``.
    public var unfinishedBytes = 256 << 20
    /// The same of the connections of one user.
    public var unfinishedBytesPerUser = 128 << 20
    /// A connection that began a message and has not sent the rest after this long is closed.
    public var messageMilliseconds = 60_000
    /// Bytes waiting to be sent to a client; above it the session stays a cursor until the client reads.
    public var outboundBytes = 1 << 20
    /// Open controllers of one connection, and questions in one verdict request; the welcome says so.
    public var controllers = WireLimits.controllers

    // MARK: Content

    /// Bytes of a URL.
    public var attributeBytes = BlobReference.inlineLimit
    /// Bytes of a text or of data, which are blobs where they are too long for their object's row.
    public var blobBytes = 16 << 20
    /// Bytes of a transaction apart from its blobs, and of its blobs.
    public var transactionBytes = 16 << 20
    /// Numbers in a lease.
    public var leaseNumbers = 4_096
    /// Save ids whose answers are remembered, counted in positions.
    public var savesKept = 1_000_000

    // MARK: Batches and checkpoints

    /// Saves in one batch: bounds the wait of the first for the last.
    public var batchSaves = 1_024
    /// Bytes in one batch.
    public var batchBytes = 4 << 20
    /// A checkpoint is due after this long without a save.
    public var checkpointIdleMilliseconds = 100
    /// A checkpoint is due after this long in any case.
    public var checkpointMilliseconds = 1_000
    /// A checkpoint is due at this many dirty pages, or at fewer where so many take longer than a save should wait; far below LMDB's spill limit.
    public var checkpointPages = 4_096

    // MARK: Reading

    /// Sort keys of a request.
    public var sortKeys = 64
    /// Comparisons of a predicate; an `IN` is one, however long its list is.
    public var comparisons = 1_000
    /// Bytes of a text or of data that a predicate compares with.
    public var constantBytes = 64 << 10
    /// Reads that are carried out at a time; 0 for one less than there are cores, and at least one.
    public var readerThreads = 0
    /// How long a read may hold back the pages that its snapshot sees while others save.
    public var snapshotMilliseconds = 5_000
    /// Bytes that others may commit while a snapshot is read: so many can't be used again until it ends.
    public var snapshotBytes = 256 << 20
    /// Read transactions on the store, of all processes together; who finds none free waits.
    public var storeReaders = 126
    /// Transactions that a question about history looks at before saves go first, and objects that a batch does.
    public var sliceReads = 4_096
    /// Related objects that a request reads for one candidate, in one piece; 64 bytes of a row or of a long text count like another,
    /// and eight members that are only listed like one.
    public var objectReads = 1 << 18
    /// Related objects that a request reads for all its candidates: some ten seconds.
    public var requestReads = 1 << 24
    /// Bytes that fetches hold which are under way, and answers that are being sent, of all connections.
    public var readBytes = 512 << 20
    /// About the bytes of a part of a large answer; no matter of policy, and another one in tests alone.
    package var partBytes = FetchedParts.partBytes
    /// Transactions that a read at an earlier position may undo.
    public var lookBackTransactions = 1_000_000
    /// Pins of one connection.
    public var pinsPerConnection = 64
    /// How long a pin holds back retention without being moved.
    public var pinSeconds = 3_600

    // MARK: History

    /// Transactions kept in memory for sessions at the tail.
    public var ringTransactions = 8_192
    /// Bytes of transactions kept in memory for sessions at the tail.
    public var ringBytes = 16 << 20
    /// Transactions between a question for verdicts and its answer; who is further behind fetches anew.
    public var verdictTransactions = 20_000
    /// Transactions in one history answer.
    public var historyTransactions = 4_096
    /// Bytes in one history answer.
    public var historyBytes = 8 << 20
    /// Consumers of the journal that can be registered.
    public var consumers = 256
    /// Consumers of the journal that one user can have registered.
    public var consumersPerUser = 128
    /// Objects that one batch delete or update may find.
    public var batchObjects = 4_000_000
    /// Batches of a connection that wait for their turn, besides the one under way.
    public var batchesPerConnection = 4
    /// Batches of a user that wait for their turn, besides the one under way.
    public var batchesPerUser = 16

    /// The limits of DESIGN, section 6, and the others at their defaults.
    public init() {}

    /// How many reads are carried out at a time.
    var readers: Int { readerThreads > 0 ? readerThreads : max(1, ThisProcess.cores - 1) }

    /// What the welcome tells a client to keep to.
    var session: SessionLimits {
        SessionLimits(
            frameBytes: frameBytes,
            messageBytes: min(
                transactionBytes + WireLimits.aroundTransaction, WireLimits.clientMessageBytes),
            requestsInFlight: requestsInFlight, controllers: controllers)
    }
}

/// What is no matter of policy: parts of how the daemon works.
extension DaemonLimits {
    /// So many leases are made durable ahead, so that a hello does not wait for the disk.
    static let leasesReserved: UInt32 = 64
    /// Segments of the journal that are read whole at the start; of more, only what recovery needs.
    ///
    /// At 64 MiB each these are some ten seconds.
    static let segmentsVerified = 64
    /// So many models that sessions declare are kept, to tell who can't go on under another one.
    static let declaredModels = 64
    /// So often sockets are looked at again for saves that a flush can take along.
    static let gatherRounds = 4
    /// Connections accepted before the other sockets are looked at again.
    static let acceptsInTurn = 64
    /// Bytes of pushes queued for a session in one of its turns, which its socket takes in as few writes.
    static let turnBytes = 128 << 10
    /// Transactions considered for a session in one of its turns.
    static let turnTransactions = 512
    /// Requests other than saves answered to a session in one of its turns.
    static let requestsInTurn = 8
    /// Sessions that ask and sessions that follow which are served before sockets are looked at for saves again.
    static let sliceSessions = 32
    /// Flushes of which it is timed how long their news take to everybody, at one time.
    static let fanOuts = 64
    /// Bytes sent to each of the two kinds before sockets are looked at for saves again; of what follows, as many as
    /// the last flush brought if those are more.
    static let sliceBytes = 256 << 10
    /// An answer in parts of which its client has taken nothing for so long gives way to others.
    static let stalledAnswerNanoseconds: UInt64 = 5_000_000_000
    /// When questions took so long, sockets are looked at for saves before the next one; one that takes longer is not cut off.
    static let sliceNanoseconds: UInt64 = 20_000_000
    /// Saves of one session planned before sockets are looked at for those of others.
    static let savesInTurn = 16
    /// The bytes of what happened that one question for verdicts decides on, about forty thousand changes; who is further behind
    /// fetches anew.
    static let windowBytes = 16 << 20
    /// A read that looks at no more objects than this, which takes less than a millisecond, is answered at once.
    static let littleWork = 2_048
    /// A question that is about at most so many transactions, and so many bytes of them, may be answered at once.
    static let littleHistory: UInt64 = 256
    static let littleHistoryBytes = 64 << 10
    /// A checkpoint for which reads wait comes at the earliest so long after the last one, and four times as long as that one took.
    static let readCheckpointNanoseconds: UInt64 = 20_000_000
    /// A checkpoint that is due because of its pages should take no longer than this.
    static let checkpointNanoseconds: UInt64 = 25_000_000
    /// The least number of reads that may have been started at the same time, although fewer run.
    static let readsBegun = 16
    /// Reads that found no read transaction free are tried again after so long.
    static let noReaderNanoseconds: UInt64 = 10_000_000
    /// What follows a checkpoint (progress, retention, care for the store) is done at most so often.
    static let housekeepingNanoseconds: UInt64 = 100_000_000
    /// The first transaction of a batch has at most this many objects; the next ones as many as it takes to keep to the time below.
    static let firstBatchObjects = 64
    /// The time that one transaction of a batch should take to be planned and applied, for which other savers wait.
    static let batchNanoseconds: UInt64 = 8_000_000
    /// Bytes of pushes that are put together for all sessions that stand at the same place.
    static let runBytes = 64 << 10
    /// Bytes of pushes kept in memory, each made once for all who follow the same entities.
    static let pushCacheBytes = 8 << 20
    /// What keeps the daemon's thread for longer than this is noted for its status.
    static let stallNanoseconds: UInt64 = 1_000_000
    /// Of what is noted so, the longest ones are kept.
    static let stallsKept = 256
    /// A request whose answer takes longer than this is noted for the daemon's status.
    static let slowRequestNanoseconds: UInt64 = 10_000_000
    /// For so long it is remembered.
    static let slowRequestsNanoseconds: UInt64 = 600_000_000_000
    /// Of what is remembered so, the slowest ones are kept.
    static let slowRequestsKept = 16
    /// An event found this soon after a wait began arrived earlier, while the daemon was busy.
    static let promptNanoseconds: UInt64 = 50_000
    /// A flush or checkpoint that takes so long, or a request whose answer does, is worth a warning.
    static let slowNanoseconds: UInt64 = 1_000_000_000
    /// Lines of an event that clients cause which are logged in the interval below; of more it is logged how many there were.
    static let logLinesInInterval = 100
    /// The interval of these lines.
    static let logIntervalNanoseconds: UInt64 = 10_000_000_000
    /// How long a full disk is left alone before room is asked for again.
    static let spaceRetryNanoseconds: UInt64 = 1_000_000_000
    /// Bytes of a consumer's name.
    static let consumerNameBytes = 128
    /// Journal segments given up after one checkpoint, so that nobody waits long for the disk.
    static let trimmedSegments = 8
    /// An idle daemon looks at the age of its journal at least this often while there is something to grow old.
    static let retentionLookSeconds: UInt64 = 3_600
    /// A segment that is old and that somebody needs, or that can't be removed, is looked at again after this long.
    static let retentionPauseSeconds: UInt64 = 60
    /// Readers of the store that died are looked for at most this often.
    static let readerCheckNanoseconds: UInt64 = 60_000_000_000
    /// After a read that held as much as this, memory that it freed is kept for so long, up to so many bytes.
    static let largeReadBytes = 1 << 20
    static let freedMemoryNanoseconds: UInt64 = 2_000_000_000
    /// So many bytes of freed memory are kept meanwhile.
    package static let keptMemoryBytes: Int32 = 64 << 20
    /// A reader of the store that lags so long, or behind which so much was committed, is named in the log.
    static let readerLagSeconds: UInt64 = 60
    static let readerLagBytes: UInt64 = 1 << 30
    /// The log has a warning when this much of the store's quota is in use.
    static let mapAlertPercent = 70
}
