public import TandemJournal

/// How much of the journal is kept.
public typealias RetentionPolicy = TandemJournal.RetentionPolicy

/// What a daemon is told at its start.
public struct DaemonConfiguration: Sendable {
    /// The directory of store and journal; made with mode 0700 if missing.
    public var store: String
    /// The path of the socket, or nil for a daemon without one (embedded, or a socket adopted from systemd).
    public var socket: String?
    /// The mode of the socket.
    public var socketMode: UInt32 = 0o660
    /// The group of the socket; nil for the daemon's own.
    public var socketGroup: UInt32?
    /// Who may do what.
    public var roles = RolePolicy()
    /// Whether an acknowledged save survives power loss, or only the death of processes.
    public var durability: Durability = .full
    /// The bytes of a journal segment.
    public var segmentBytes: Int?
    /// How much of the journal is kept; `RetentionPolicy()` keeps all of it.
    public var retention = RetentionPolicy.standard
    /// What clients may take, and when checkpoints are due.
    public var limits = DaemonLimits()
    /// The bytes that the store may use; nil for the store's own limit.
    public var storeQuotaBytes: Int?
    /// Whether nothing is kept: the journal lies in memory, the store in a file in memory that has no name.
    ///
    /// See ``inMemory()``.
    public var isInMemory = false
    /// Whether the process is the daemon's own, so that systemd is told how it is.
    public var isSupervised = false
    /// Where the daemon says what it does, a line at a time.
    public var log: @Sendable (LogLevel, String) -> Void
    /// Lines that matter less are not even made.
    public var logLevel: LogLevel = .info
    /// Who set a key: a flag, a variable, or a file with the line; keys that are not in it have their default.
    ///
    /// For people only, as `tandem config` shows it.
    public var origins: [String: String] = [:]

    /// A daemon on a directory.
    public init(
        store: String, socket: String? = nil,
        log: @escaping @Sendable (LogLevel, String) -> Void = { _, _ in }
    ) {
        self.store = store
        self.socket = socket
        self.log = log
    }

    /// The lines that matter enough.
    var events: DaemonLog { DaemonLog(level: logLevel, log) }
}

/// Why a daemon can't start or go on.
public struct DaemonError: Error, Hashable, Sendable, CustomStringConvertible {
    /// What kind of failure it is.
    public enum Code: Hashable, Sendable {
        /// Another daemon holds the store or the socket.
        case inUse
        /// There is no room or memory to start with; freeing some helps, and nothing was changed.
        case noSpace
        /// The journal or the store is damaged or failed; restarting would not help.
        case storage
        /// Anything else that the system refused.
        case system
    }

    /// What kind of failure it is.
    public var code: Code
    /// What happened, where, and what to do.
    public var message: String

    /// An error of a kind with its message.
    public init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    /// The message.
    public var description: String { message }
}
