import TandemIO

/// The paths at which clients find a daemon; all paths of the client library are defined in this
/// type.
package enum TandemPaths {
    /// The environment variable that overrides the default socket path.
    package static let socketVariable = "TANDEM_SOCKET"

    /// Returns the socket path of the daemon named `name`.
    ///
    /// The path is `$TANDEM_SOCKET`, or else `$XDG_RUNTIME_DIR/tandem/NAME.sock`, or else
    /// `/run/tandem/NAME.sock`. For root, which uses the system-wide daemon, `$XDG_RUNTIME_DIR` is
    /// ignored.
    package static func socket(name: String = "default") -> String {
        if let path = ThisProcess.environment(socketVariable), !path.isEmpty { return path }
        return defaultSocket(name: name)
    }

    /// Returns the default socket path of the daemon named `name`, ignoring the environment
    /// variable.
    ///
    /// For root, that is `/run/tandem/NAME.sock`.
    package static func defaultSocket(name: String = "default") -> String {
        guard ThisProcess.effectiveUserID != 0 else { return systemSocket(name: name) }
        if let directory = ThisProcess.environment("XDG_RUNTIME_DIR"), !directory.isEmpty {
            return "\(directory)/tandem/\(name).sock"
        }
        return systemSocket(name: name)
    }

    /// The directory for this program's cached lists, or nil if there is none.
    ///
    /// See ``PersistentContainer/cacheDirectory``.
    package static var cacheDirectory: String? {
        func directory(_ variable: String, _ rest: String) -> String? {
            ThisProcess.environment(variable).flatMap { $0.hasPrefix("/") ? $0 + rest : nil }
        }
        guard let caches = directory("XDG_CACHE_HOME", "") ?? directory("HOME", "/.cache"),
            let program = CommandLine.arguments.first?.split(separator: "/").last
        else { return nil }
        return "\(caches)/tandem/\(program)"
    }

    /// Returns the socket path of the system-wide daemon named `name`.
    package static func systemSocket(name: String = "default") -> String {
        "/run/tandem/\(name).sock"
    }
}

/// The limits and timeouts of the client library.
public struct ClientLimits: Hashable, Sendable {
    /// The number of recent transactions kept for contexts that have not merged them yet.
    package var recentTransactions = 4_096
    /// The encoded size of recent transactions kept for contexts, in bytes.
    package var recentBytes = 16 << 20
    /// The number of received bytes after which freed memory is returned to the system; with 0, it
    /// is never returned.
    ///
    /// Without this, the C library keeps the memory in fragments between live allocations. In a
    /// process that handles large values for days, each part of the heap would then stay at its
    /// peak size. Each release takes a few milliseconds on the connection's thread.
    package var releaseBytes = 8 << 20
    /// The number of rows that a context caches in addition to the rows of objects in use.
    public var cachedRows = 65_536
    /// The number of ids, of 16 bytes each, that a loop over fetch batches requests at once.
    package var listedReferences = 262_144
    /// The size of the blobs that a context caches, in bytes.
    package var blobCacheBytes = 32 << 20
    /// The number of payloads by which an observer may lag before its sequence throws
    /// `limitExceeded`.
    public var bufferedPayloads = 4_096
    /// The number of connection events by which a reader may lag before the oldest are dropped.
    package var bufferedConnectionEvents = 64
    /// The time that a request waits for a connection, and for its answer after a loss, in
    /// milliseconds.
    public var connectMilliseconds: UInt64 = 5_000
    /// The time for which a first connection is retried if no daemon listens, in milliseconds.
    ///
    /// The time is limited to ``connectMilliseconds``. The default suffices for a daemon that is
    /// just starting, and blocks the main thread only briefly. With 0, the first failed attempt is
    /// reported, as in ``PersistentContainer/open(model:socket:name:author:transport:limits:)``;
    /// the container still waits for a busy daemon. Attempts are logged with
    /// `TANDEM_DEBUG=connect`.
    public var absentMilliseconds: UInt64 = 1_000
    /// The number of object numbers leased with the connection; nil lets the daemon decide.
    ///
    /// The first new object leases more. Leased numbers are never returned, so a program that
    /// creates no objects should set this to 0.
    package var firstNumbers: UInt32?
    /// The time that an answer may take while connected, in milliseconds.
    public var answerMilliseconds: UInt64 = 60_000
    /// The time that a batch or a model change may take while connected, in milliseconds.
    package var batchMilliseconds: UInt64 = 3_600_000
    /// The first pause before reconnecting, in milliseconds; it doubles with each attempt.
    package var firstBackoffMilliseconds: UInt64 = 10
    /// The longest pause before reconnecting, in milliseconds.
    package var longestBackoffMilliseconds: UInt64 = 1_000
    /// The number of transactions per request for a context that lags behind the recent
    /// transactions.
    package var historyBatch: UInt32 = 1_024
    /// The minimum number of rows fetched beyond the limit of a list.
    ///
    /// Up to this number of rows may leave the list before it is fetched again.
    package var windowSlack = 64
    /// The maximum number of undo steps in a context (``ManagedObjectContext/allowsUndo``).
    ///
    /// If it is exceeded, the oldest steps are dropped.
    public var undoSteps = 1_000
    /// The number of faults that are loaded together when one of them fires.
    package var faultBatch = 256
    /// The number of list rows loaded together when one is read.
    ///
    /// A quarter of these rows precede the row; the others follow it.
    package var windowBatch = 64
    /// The number of connection losses after which a request in flight fails.
    package var requestAttempts = 5
    /// The number of attempts to send a save or read if the model changes before it arrives.
    package var modelAttempts = 5
    /// The maximum number of attempts at a read whose context moves past each answer.
    package var readAttempts = 8

    /// Creates the default limits.
    public init() {}
}
