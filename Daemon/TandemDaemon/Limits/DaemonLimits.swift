import TandemIO
import TandemModel
import TandemWire

/// All limits of the daemon by name: the configurable ones, then the fixed ones.
///
///     var limits = DaemonLimits()
///     limits.connectionsPerUser = 16
public struct DaemonLimits: Hashable, Sendable {
    // MARK: Connections

    /// The maximum number of connections.
    public var connections = 4_096
    /// The maximum number of connections of one user.
    public var connectionsPerUser = 1_024
    /// The time after which a connection without a hello is closed.
    public var handshakeMilliseconds = Int(WireLimits.handshakeMilliseconds)
    /// The maximum payload of a frame from a client, in bytes; announced in the welcome.
    public var frameBytes = WireLimits.frameBytes
    /// The maximum number of unanswered requests of one connection; announced in the welcome.
    public var requestsInFlight = WireLimits.requestsInFlight
    /// The maximum size of queued input, in bytes.
    ///
    /// Applies to the requests of one connection while it doesn't read its answers, and to the
    /// queued batches of one user.
    public var inboundBytes = WireLimits.inboundQueueBytes
    /// The maximum size of incomplete messages of all connections, in bytes.
    ///
    /// The size of one message is at most ``transactionBytes``.
    public var unfinishedBytes = 256 << 20
    /// The maximum size of incomplete messages of one user's connections, in bytes.
    public var unfinishedBytesPerUser = 128 << 20
    /// The time after which a connection with an incomplete message is closed.
    public var messageMilliseconds = 60_000
    /// The size of a session's queued output, in bytes, at which queueing stops until the client
    /// reads.
    public var outboundBytes = 1 << 20
    /// The maximum number of open controllers of one connection, and of queries in one verdict
    /// request.
    ///
    /// Announced in the welcome.
    public var controllers = WireLimits.controllers

    // MARK: Content

    /// The maximum size of a URL, in bytes.
    public var attributeBytes = BlobReference.inlineLimit
    /// The maximum size of a text or data value, in bytes; long values are stored as blobs.
    public var blobBytes = 16 << 20
    /// The maximum size of a transaction without its blobs, and also of its blobs, in bytes.
    public var transactionBytes = 16 << 20
    /// The number of object numbers in a lease.
    public var leaseNumbers = 4_096
    /// The number of positions for which answers to saves are remembered.
    public var savesKept = 1_000_000

    // MARK: Batches and checkpoints

    /// The maximum number of saves in one batch, which bounds the wait of its first save.
    public var batchSaves = 1_024
    /// The maximum size of one batch, in bytes.
    public var batchBytes = 4 << 20
    /// The time without a save after which a checkpoint is due.
    public var checkpointIdleMilliseconds = 100
    /// The maximum time between checkpoints while there are saves.
    public var checkpointMilliseconds = 1_000
    /// The number of dirty pages at which a checkpoint is due, far below LMDB's spill limit.
    ///
    /// A checkpoint is due earlier if writing the pages would delay a save too long.
    public var checkpointPages = 4_096

    // MARK: Reading

    /// The maximum number of sort keys of a request.
    public var sortKeys = 64
    /// The maximum number of comparisons of a predicate; an `IN` counts as one, whatever the length
    /// of its list.
    public var comparisons = 1_000
    /// The maximum size of a text or data constant in a predicate, in bytes.
    public var constantBytes = 64 << 10
    /// The number of concurrent reads; 0 for the number of cores minus one, and at least one.
    public var readerThreads = 0
    /// The maximum time for which a read's snapshot retains pages while other clients save.
    public var snapshotMilliseconds = 5_000
    /// The maximum size of commits during a read, in bytes.
    ///
    /// That many bytes can't be reused until the snapshot ends.
    public var snapshotBytes = 256 << 20
    /// The maximum number of read transactions on the store, in all processes; further reads wait.
    public var storeReaders = 126
    /// The maximum number of transactions read for a history request, or of objects evaluated for a
    /// batch, in one slice.
    ///
    /// Saves are served between slices.
    public var sliceReads = 4_096
    /// The maximum number of related objects read for one candidate, without interruption.
    ///
    /// Every 64 bytes of a row or of a long text count as another object. Eight members that are
    /// only listed count as one object.
    public var objectReads = 1 << 18
    /// The maximum number of related objects read for all candidates of a request, which takes
    /// about ten seconds.
    public var requestReads = 1 << 24
    /// The maximum memory of one read, of all running reads, and of all unsent answers, in bytes.
    public var readBytes = 512 << 20
    /// The approximate size of a chunk of a large answer; not configurable, and changed only by
    /// tests.
    package var chunkBytes = AnswerChunker.chunkBytes
    /// The maximum number of transactions that a read at an earlier position undoes.
    public var lookBackTransactions = 1_000_000
    /// The maximum number of pins of one connection.
    public var pinsPerConnection = 64
    /// The lifetime of a pin after it was created or last moved.
    public var pinSeconds = 3_600

    // MARK: History

    /// The maximum number of recent transactions in memory, for sessions at the tail.
    public var ringTransactions = 8_192
    /// The maximum size of recent transactions in memory, for sessions at the tail, in bytes.
    public var ringBytes = 16 << 20
    /// The maximum lag of a verdict request in transactions; beyond it, a client has to fetch its
    /// lists again.
    public var verdictTransactions = 20_000
    /// The maximum number of transactions in one history answer.
    public var historyTransactions = 4_096
    /// The maximum size of one history answer, in bytes.
    public var historyBytes = 8 << 20
    /// The maximum number of registered consumers of the journal.
    public var consumers = 256
    /// The maximum number of registered consumers of one user.
    public var consumersPerUser = 128
    /// The maximum number of objects that one batch delete or update may find.
    public var batchObjects = 4_000_000
    /// The maximum number of queued batches of a connection, not counting the running one.
    public var batchesPerConnection = 4
    /// The maximum number of queued batches of a user, not counting the running one.
    public var batchesPerUser = 16

    /// Creates the default limits.
    public init() {}

    /// The number of concurrent reads.
    var readers: Int { readerThreads > 0 ? readerThreads : max(1, ThisProcess.cores - 1) }

    /// The limits announced to a client in the welcome.
    var session: SessionLimits {
        SessionLimits(
            frameBytes: frameBytes,
            messageBytes: min(
                transactionBytes + WireLimits.aroundTransaction, WireLimits.clientMessageBytes),
            requestsInFlight: requestsInFlight, controllers: controllers)
    }
}

/// Fixed limits, which are implementation details of the daemon.
extension DaemonLimits {
    /// The number of leases reserved durably in advance, so that a hello needn't wait for the disk.
    static let leasesReserved: UInt32 = 64
    /// The maximum number of journal segments with which a start verifies the whole journal.
    ///
    /// Verifying that many segments of 64 MiB takes about ten seconds. With more segments, only the
    /// part needed for recovery is read.
    static let segmentsVerified = 64
    /// The maximum number of declared models kept to find sessions that a model change invalidates.
    static let declaredModels = 64
    /// The maximum number of polls for further saves before a flush.
    static let pollsBeforeFlush = 4
    /// The maximum number of connections accepted between two polls of the other sockets.
    static let acceptsInTurn = 64
    /// The maximum size of pushes queued in one turn of a session, so that they fit into a few
    /// writes.
    static let turnBytes = 128 << 10
    /// The maximum number of transactions considered in one turn of a session.
    static let turnTransactions = 512
    /// The maximum number of requests, saves excluded, answered in one turn of a session.
    static let requestsInTurn = 8
    /// The maximum number of sessions with requests, and of sessions with pushes, served in one
    /// slice.
    ///
    /// Sockets are polled for saves after each slice.
    static let sliceSessions = 32
    /// The maximum number of flushes whose fan-out is timed concurrently.
    static let fanOuts = 64
    /// The maximum number of bytes that one slice sends for answers, and also for pushes.
    ///
    /// For pushes, the size of the last flush is the limit if it is larger.
    static let sliceBytes = 256 << 10
    /// The time without progress after which a chunked answer yields its memory to other answers.
    static let stalledAnswerNanoseconds: UInt64 = 5_000_000_000
    /// The time after which a slice of requests ends; a longer request isn't interrupted.
    static let sliceNanoseconds: UInt64 = 20_000_000
    /// The maximum number of saves of one session planned before other sessions are polled.
    static let savesInTurn = 16
    /// The maximum number of subscribers that are sent a flush before its saves are answered, and
    /// the maximum number of transactions of such a flush.
    static let subscribersBeforeAnswers = 2
    static let transactionsBeforeAnswers = 4
    /// The maximum size of the changes that one verdict request covers, about forty thousand
    /// changes.
    ///
    /// Beyond that, a client has to fetch its lists again.
    static let windowBytes = 16 << 20
    /// The maximum cost of a request that is answered immediately, in units of a read budget.
    ///
    /// An object costs one unit and more; such a read takes less than a millisecond.
    static let smallReadWork = 2_048
    /// The maximum number of key paths, and of parts of predicates, of the lists of a verdict
    /// request that is answered immediately.
    ///
    /// Compiling the maximum of either takes about a millisecond.
    static let smallReadPaths = 256
    static let smallReadPredicateParts = 4_096
    /// The maximum number and size of transactions covered by a request that is answered
    /// immediately.
    static let smallReadTransactions: UInt64 = 256
    static let smallReadHistoryBytes = 64 << 10
    /// The maximum duration of a read on the daemon's thread while the disk is full.
    static let shortReadNanoseconds: UInt64 = 100_000_000
    /// The minimum interval between the last checkpoint and one that reads wait for.
    ///
    /// The interval is also at least four times the duration of the last checkpoint.
    static let readCheckpointNanoseconds: UInt64 = 20_000_000
    /// The target duration of a checkpoint that is due because of its dirty pages.
    static let checkpointNanoseconds: UInt64 = 25_000_000
    /// The maximum number of blobs that one checkpoint removes, about as many as can be added
    /// before it.
    static let blobsPerSweep = 1_024
    /// The maximum number of reads in progress, or four per reader thread if that is more.
    ///
    /// Only as many of them run concurrently as there are reader threads.
    static let readsBegun = 16
    /// The delay before reads that found no free read transaction are retried.
    static let noReaderNanoseconds: UInt64 = 10_000_000
    /// The minimum interval between runs of the work after checkpoints: progress, retention and
    /// maintenance.
    static let housekeepingNanoseconds: UInt64 = 100_000_000
    /// The maximum number of objects in the first transaction of a batch.
    ///
    /// Later transactions adapt to the duration below.
    static let firstBatchObjects = 64
    /// The maximum number and size of objects that a reader evaluates again for a transaction of a
    /// batch.
    static let evaluatedObjects = 1_024
    static let evaluatedBytes = 4 << 20
    /// The number of consecutive evaluations without a transaction after which a batch ends with
    /// `timeout`.
    static let batchEvaluations = 16
    /// The target time for planning and applying one transaction of a batch, while other clients
    /// wait.
    static let batchNanoseconds: UInt64 = 8_000_000
    /// The maximum size of a push batch shared by all sessions at the same cursor, in bytes.
    static let sharedPushBatchBytes = 64 << 10
    /// The maximum size of cached pushes, each encoded once for all sessions with the same
    /// interests.
    static let pushBodyCacheBytes = 8 << 20
    /// The minimum duration of a stall of the daemon's thread that its status reports.
    static let stallNanoseconds: UInt64 = 1_000_000
    /// The maximum number of recorded stalls; the longest are kept.
    static let stallsKept = 256
    /// The minimum duration of a request that the daemon's status reports as slow.
    static let slowRequestNanoseconds: UInt64 = 10_000_000
    /// The time for which slow requests are remembered.
    static let slowRequestsNanoseconds: UInt64 = 600_000_000_000
    /// The maximum number of remembered slow requests; the slowest are kept.
    static let slowRequestsKept = 16
    /// The duration of a wait below which its events count as having arrived before it, while the
    /// daemon was busy.
    static let briefWaitNanoseconds: UInt64 = 50_000
    /// The minimum duration of a flush, a checkpoint or a request that is logged as a warning.
    static let slowNanoseconds: UInt64 = 1_000_000_000
    /// The maximum number of log lines per interval for one event that clients can cause.
    ///
    /// Further lines are only counted.
    static let logLinesInInterval = 100
    /// The interval to which ``logLinesInInterval`` applies.
    static let logIntervalNanoseconds: UInt64 = 10_000_000_000
    /// The delay before disk space is requested again after the disk was full.
    static let spaceRetryNanoseconds: UInt64 = 1_000_000_000
    /// The maximum size of a consumer's name, in bytes.
    static let consumerNameBytes = 128
    /// The maximum number of journal segments removed after one checkpoint, to limit waits for the
    /// disk.
    static let trimmedSegments = 8
    /// The maximum interval at which an idle daemon checks the age of its journal.
    ///
    /// Applies while the journal has segments that can expire.
    static let retentionCheckSeconds: UInt64 = 3_600
    /// The delay before an expired segment that is in use or can't be removed is checked again.
    static let retentionPauseSeconds: UInt64 = 60
    /// The minimum interval between checks for dead readers of the store.
    static let readerCheckNanoseconds: UInt64 = 60_000_000_000
    /// The minimum size of a large read, and the time for which memory freed by it is kept.
    static let largeReadBytes = 1 << 20
    static let heapTrimNanoseconds: UInt64 = 2_000_000_000
    /// The size up to which freed memory is kept for that time regardless of limits, in bytes.
    package static let keptMemoryBytes: Int32 = 64 << 20
    /// The lag, in time and in committed bytes, at which a reader of the store is named in the log.
    static let readerLagSeconds: UInt64 = 60
    static let readerLagBytes: UInt64 = 1 << 30
    /// The share of the store's quota above which a warning is logged, in percent.
    static let mapAlertPercent = 70
}
