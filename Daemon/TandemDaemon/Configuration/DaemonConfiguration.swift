public import TandemJournal

/// The configuration of a daemon at its start.
public struct DaemonConfiguration: Sendable {
    /// The directory of store and journal, created with mode 0700 if it is missing.
    public var store: String
    /// The path of the socket.
    ///
    /// Nil if the daemon creates no socket: an embedded daemon, or one that adopts a socket from
    /// systemd.
    public var socket: String?
    /// The mode of the socket.
    public var socketMode: UInt32 = 0o660
    /// The group of the socket, or nil for the daemon's own group.
    public var socketGroup: UInt32?
    /// The roles of users and groups.
    public var roles = RolePolicy()
    /// The guarantee for acknowledged saves: they survive power loss, or only process crashes.
    public var durability: Durability = .full
    /// The size of a journal segment in bytes, or nil for the default.
    public var segmentBytes: Int?
    /// The rules for how much of the journal is kept; the type belongs to the module TandemJournal.
    ///
    /// `RetentionPolicy()` keeps the whole journal.
    public var retention = RetentionPolicy.standard
    /// The limits for clients, and the intervals of checkpoints.
    public var limits = DaemonLimits()
    /// The maximum size of the store in bytes, or nil for the store's own limit.
    public var storeQuotaBytes: Int?
    /// Whether the daemon persists nothing: the journal is in memory, and the store in an unnamed
    /// file in memory.
    ///
    /// See ``inMemory()``.
    public var isInMemory = false
    /// Whether the daemon has a process of its own, and therefore reports its state to systemd.
    package var isSupervised = false
    /// The destination of log lines.
    public var log: @Sendable (LogLevel, String) -> Void
    /// The minimum level of log lines; lines below that level are not formatted.
    public var logLevel: LogLevel = .info
    /// The origin of each key: a flag, a variable, or a file and line.
    ///
    /// Keys without an origin have their defaults. For display only, as in `tandem config`.
    package var origins: [String: String] = [:]

    /// Creates the configuration of a daemon with a directory and default settings.
    public init(
        store: String, socket: String? = nil,
        log: @escaping @Sendable (LogLevel, String) -> Void = { _, _ in }
    ) {
        self.store = store
        self.socket = socket
        self.log = log
    }

    /// The log, without lines less important than ``logLevel``.
    var events: DaemonLog { DaemonLog(level: logLevel, log) }
}

/// An error that prevents a daemon from starting or continuing.
public struct DaemonError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The kind of a failure.
    public enum Code: Hashable, Sendable {
        /// Another daemon uses the store or the socket.
        case inUse
        /// There is too little disk space or memory for the start; nothing was changed.
        case noSpace
        /// The journal or the store is damaged or failed; a restart would not help.
        case storage
        /// Any other failure of a system call.
        case system
    }

    /// The kind of the failure.
    public var code: Code
    /// A message that states the failure, the file and the remedy.
    public var message: String

    /// Creates an error from a code and a message.
    public init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    /// The message.
    public var description: String { message }
}
