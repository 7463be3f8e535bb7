import TandemIO

/// Where a daemon of a name is found; the only place in the client that knows paths.
public enum TandemPaths {
    /// The variable that overrides every default.
    public static let socketVariable = "TANDEM_SOCKET"

    /// The socket of the daemon `name`.
    ///
    /// That is `$TANDEM_SOCKET`, else `$XDG_RUNTIME_DIR/tandem/NAME.sock`, else `/run/tandem/NAME.sock`; for root, whose daemon is
    /// the system's, never below `$XDG_RUNTIME_DIR`.
    public static func socket(name: String = "default") -> String {
        if let path = ThisProcess.environment(socketVariable), !path.isEmpty { return path }
        return defaultSocket(name: name)
    }

    /// The socket of the daemon `name`, whatever the variable says; `/run/tandem/NAME.sock` for root.
    public static func defaultSocket(name: String = "default") -> String {
        guard ThisProcess.effectiveUserID != 0 else { return systemSocket(name: name) }
        if let directory = ThisProcess.environment("XDG_RUNTIME_DIR"), !directory.isEmpty {
            return "\(directory)/tandem/\(name).sock"
        }
        return systemSocket(name: name)
    }

    /// Where this program caches lists, as ``PersistentContainer/cacheDirectory`` says; nil for nowhere.
    public static var cacheDirectory: String? {
        func directory(_ variable: String, _ rest: String) -> String? {
            ThisProcess.environment(variable).flatMap { $0.hasPrefix("/") ? $0 + rest : nil }
        }
        guard let caches = directory("XDG_CACHE_HOME", "") ?? directory("HOME", "/.cache"),
            let program = CommandLine.arguments.first?.split(separator: "/").last
        else { return nil }
        return "\(caches)/tandem/\(program)"
    }

    /// The socket of the system's daemon `name`.
    public static func systemSocket(name: String = "default") -> String {
        "/run/tandem/\(name).sock"
    }
}

/// What a client keeps and how long it waits; every bound of the library by name.
public struct ClientLimits: Hashable, Sendable {
    /// Recent transactions kept for contexts that have not merged them yet.
    public var recentTransactions = 4_096
    /// Bytes of recent transactions kept for them, encoded.
    public var recentBytes = 16 << 20
    /// Bytes received after which memory that was freed meanwhile is given back to the system; 0 for never.
    ///
    /// The C library keeps it otherwise, in pieces between what is held: a process that lives for days among large values would
    /// stay at the most that it ever needed in every part of its heap. Some milliseconds of the connection's thread each time.
    public var releaseBytes = 8 << 20
    /// Rows that a context keeps besides those of objects in use.
    public var cachedRows = 65_536
    /// Ids that a loop over batches of a fetch lists at once, of 16 bytes each.
    public var listedReferences = 262_144
    /// Bytes of blobs that a context keeps after they were read.
    public var blobCacheBytes = 32 << 20
    /// Payloads that an observer may lag behind before its sequence ends with `limitExceeded`.
    public var bufferedPayloads = 4_096
    /// Changes of the connection that a reader of them may lag behind before the oldest are summed up.
    public var bufferedConnectionEvents = 64
    /// Milliseconds that a request waits for a connection, and for its answer after a loss.
    public var connectMilliseconds: UInt64 = 5_000
    /// Milliseconds for which a first connection is tried again where nothing listens; at most ``connectMilliseconds``.
    ///
    /// Less of them lets a command say at once that there is no daemon, and yet wait for one that is busy.
    public var absentMilliseconds: UInt64 = .max / 1_000_000
    /// Numbers for new objects that are asked for with the connection, before there is any; nil for as many as the daemon gives.
    ///
    /// The first new object asks for more. Numbers are never given back: a program that makes no objects takes 0.
    public var firstNumbers: UInt32?
    /// Milliseconds that an answer may take on a connection that stands.
    public var answerMilliseconds: UInt64 = 60_000
    /// Milliseconds that a batch delete or update may take on a connection that stands.
    public var batchMilliseconds: UInt64 = 3_600_000
    /// The first pause before connecting again, in milliseconds; it doubles each time.
    public var firstBackoffMilliseconds: UInt64 = 10
    /// The longest pause before connecting again, in milliseconds.
    public var longestBackoffMilliseconds: UInt64 = 1_000
    /// Transactions asked for at once when a context is behind what is kept.
    public var historyBatch: UInt32 = 1_024
    /// Rows beyond a limited list that are fetched with it, at least: so many may leave it before it is fetched again.
    public var windowSlack = 64
    /// Steps that a context with ``ManagedObjectContext/allowsUndo`` can take back; above it the oldest are forgotten.
    public var undoSteps = 1_000
    /// Faults that are loaded together when one of them is needed.
    public var faultBatch = 256
    /// Rows of a list that are loaded together with one that is read: a quarter before it, the others behind.
    public var windowBatch = 64
    /// How often a request is sent again when the connection is lost while it is in flight.
    public var requestAttempts = 5
    /// How often a save or read is sent in all when the model is changed each time before it arrives.
    public var modelAttempts = 5
    /// How often a read is repeated because the context was led beyond its answer meanwhile.
    public var readAttempts = 8

    /// The defaults.
    public init() {}
}
