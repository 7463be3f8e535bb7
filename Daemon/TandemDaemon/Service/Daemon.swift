public import TandemIO
import TandemJournal
public import TandemModel
import TandemStore
import TandemWire

/// The daemon as a library: opens journal and store, recovers, listens, and runs until stopped.
///
///     let daemon = try Daemon.open(DaemonConfiguration(store: "/var/lib/tandem/default",
///                                                      socket: "/run/tandem/default.sock"))
///     try daemon.run()
///
/// A daemon is bound to one thread, which must open and run it. Other threads use a ``Handle``.
public final class Daemon {
    private let configuration: DaemonConfiguration
    private let engine: Engine
    private let loop: ServiceLoop
    private let lock: LockFile

    /// A thread-safe reference to a daemon.
    public struct Handle: Sendable {
        fileprivate let wakeUp: WakeUp
        fileprivate let mailbox: DaemonMailbox

        /// Stops the daemon: `run` completes the current turn, makes a checkpoint and returns.
        ///
        /// As soon as the next daemon runs, clients repeat the requests that were not answered.
        public func stop() {
            mailbox.stop()
            wakeUp.signal()
        }

        /// Passes a connected socket to the daemon, as the connection of a client.
        ///
        /// A daemon that has ended closes the socket.
        public func connect(_ socket: Socket) {
            mailbox.add(socket)
            wakeUp.signal()
        }
    }

    /// Opens the store, recovers it from the journal, and starts to listen.
    ///
    /// Throws ``DaemonError``, whose message names the file and the remedy:
    /// - `inUse` if another daemon holds the store or the socket;
    /// - `noSpace` for lack of disk space or memory;
    /// - `storage` if journal or store can't be trusted;
    /// - `system` if a system call failed.
    public static func open(
        _ configuration: DaemonConfiguration, adopting descriptor: Int32? = nil
    ) throws(DaemonError) -> Daemon {
        do {
            let lock = try prepare(configuration)
            defer { try? configuration.forgetNames() }
            let environment = configuration.environment()
            let committer = try recover(configuration, environment)
            let engine = Engine(
                committer: committer, clock: environment.clock, storePath: configuration.store,
                roles: configuration.roles, log: configuration.events,
                notifier: environment.notifier ?? .none(environment.clock))
            engine.journalMaintenance.setPolicy(configuration.retention)
            engine.configuration.begin(configuration.report)
            engine.journalMaintenance.retain()
            let loop = try ServiceLoop(
                engine, listener: try listener(configuration, descriptor),
                spin: SpinPolicy(cores: ThisProcess.cores))
            engine.reads.setReaders(
                try ReaderPool(turns: configuration.limits.readers, loop.wakeUp))
            return Daemon(configuration, engine, loop, lock)
        } catch let error as DaemonError {
            throw error
        } catch let error as IOError {
            throw DaemonError(
                error.isLocked ? .inUse : error.isOutOfSpace ? .noSpace : .system,
                "\(error); \(remedy(for: error))")
        } catch {
            throw failure(error)
        }
    }

    private static func remedy(for error: IOError) -> String {
        if error.isLocked { return "stop the other daemon, or choose another store and socket" }
        if error.isPathTooLong { return "choose a shorter path" }
        // The error's detail states the remedy.
        if error.alreadyExists || error.isLink || error.isNotRegular { return "then start again" }
        return "check the owner, the mode and the disk, then start again"
    }

    private static func failure(_ error: any Error) -> DaemonError {
        switch error {
        case let error as DaemonError: error
        case let error as JournalError where error.code == .locked:
            DaemonError(.inUse, error.description)
        case let error as JournalError
        where error.code == .noSpace || error.cause?.isOutOfSpace == true:
            DaemonError(.noSpace, error.description)
        case let error as StoreError where error.code == .noSpace || error.isOutOfResources:
            DaemonError(.noSpace, error.description)
        default: DaemonError(.storage, "\(error)")
        }
    }

    private init(
        _ configuration: DaemonConfiguration, _ engine: Engine, _ loop: ServiceLoop,
        _ lock: LockFile
    ) {
        self.configuration = configuration
        self.engine = engine
        self.loop = loop
        self.lock = lock
    }

    deinit { loop.close() }

    /// A reference to the daemon for other threads.
    public var handle: Handle { Handle(wakeUp: loop.wakeUp, mailbox: loop.mailbox) }

    /// Runs until ``Handle/stop()`` or, with `signals`, until SIGTERM or SIGINT; then makes a
    /// checkpoint.
    ///
    /// On SIGHUP, or on an administrator's request, `reload` reads the configuration again, and the
    /// new roles and limits take effect. `reload` throws `usage` with a list of all errors.
    ///
    /// Throws ``DaemonError`` if journal or store failed; all acknowledged saves are durable.
    public func run(
        signals: SignalSource? = nil,
        reload: (() throws(TandemError) -> DaemonConfiguration)? = nil
    ) throws(DaemonError) {
        engine.configuration.setSource(
            reload.map { ConfigurationReload(configuration, read: $0) })
        // Clients wait a few seconds for the next daemon, so the connections stay open until the
        // last checkpoint is done.
        defer {
            engine.disconnectAll()
            loop.close()
        }
        do {
            engine.begin()
            try loop.run(signals: signals)
            engine.reads.close()
            try engine.end()
        } catch {
            throw Daemon.failure(error)
        }
    }

    /// The disk formats and the protocol version of this build.
    public static let versions =
        "store format \(Store.format), journal format \(Journal.format), "
        + "protocol \(WireLimits.protocolVersion)"

    // MARK: Start

    private static func prepare(_ configuration: DaemonConfiguration) throws -> LockFile {
        let files = RealFileSystem()
        if let socket = configuration.socket { try UnixListener.checkLength(ofPath: socket) }
        guard !files.exists(configuration.store + "/manifest.json") else {
            throw DaemonError(
                .system,
                "\(configuration.store) is a backup, which a daemon would change; restore it into "
                    + "another directory with `tandem restore \(configuration.store) --store DIRECTORY`"
            )
        }
        try files.createDirectory(configuration.store, mode: 0o700)
        try checkAccess(configuration.store)
        let lock = try LockFile(configuration.store + "/lock")
        for folder in ["store", "journal"] {
            try checkAccess(configuration.store + "/" + folder, followsLinks: false)
        }
        for file in ["data.mdb", "lock.mdb"] {
            try checkFile(configuration.store + "/store/" + file)
        }
        try files.createDirectory(configuration.store + "/store", mode: 0o700)
        return lock
    }

    /// Rejects anything but a regular file at a path to which LMDB writes: a link could refer to
    /// any file.
    private static func checkFile(_ path: String) throws {
        do throws(IOError) {
            guard try DirectoryAccess(of: path, followsLinks: false).kind != .file else { return }
        } catch {
            if error.isNotFound { return }
            throw error
        }
        throw DaemonError(
            .system,
            "\(path) is not a regular file; remove it, or put the file itself in its place")
    }

    /// Rejects a directory in which other users could replace the store's files or add links.
    private static func checkAccess(_ path: String, followsLinks: Bool = true) throws {
        let access: DirectoryAccess
        do throws(IOError) {
            access = try DirectoryAccess(of: path, followsLinks: followsLinks)
        } catch {
            if error.isNotFound { return }
            throw error
        }
        guard access.kind == .directory else {
            throw DaemonError(
                .system,
                "\(path) is not a directory; move the directory itself to this path, or mount it there"
            )
        }
        let user = ThisProcess.effectiveUserID
        guard !access.isPrivate(to: user) else { return }
        let name = ThisProcess.userName(user) ?? "\(user)"
        throw DaemonError(
            .system,
            "the store's directory \(path) belongs to uid \(access.owner) and has mode 0"
                + "\(String(access.mode, radix: 8)), so others than \(name) (uid \(user)) can write to "
                + "it; inspect its files, then run `chown -R \(name) \(path)` and `chmod 700 \(path)`"
        )
    }

    /// Opens store and journal, applies the transactions that the store lacks, and returns a
    /// committer for both.
    static func recover(
        _ configuration: DaemonConfiguration, _ environment: DaemonEnvironment
    ) throws -> Committer {
        let journalPath = configuration.store + "/journal"
        try refuseLostStore(configuration.store + "/store", journalPath, environment.fileSystem)
        var storeOptions = environment.store
        storeOptions.savesKept = UInt64(configuration.limits.savesKept)
        storeOptions.objectReads = configuration.limits.objectReads
        storeOptions.requestReads = configuration.limits.requestReads
        storeOptions.readers = configuration.limits.storeReaders
        if let bytes = configuration.storeQuotaBytes { storeOptions.quotaBytes = bytes }
        let notifier = environment.notifier
        notifier?.begins("opening the store")
        let store = try Store.open(
            path: configuration.store + "/store",
            newIdentity: StoreIdentity(log: environment.newLog(), epoch: 1), options: storeOptions)
        var options = JournalOptions()
        options.durability = configuration.durability
        options.verification = try verification(journalPath, environment.fileSystem)
        if let bytes = configuration.segmentBytes { options.segmentBytes = bytes }
        if let makeSalt = environment.makeSalt { options.makeSalt = makeSalt }
        // Reading a journal in memory is as fast as reading its index.
        if !configuration.isInMemory { options.payloadReading = PayloadKeys.ofTransaction }
        let identity = store.identity
        notifier?.begins(
            "reading the journal",
            readingBytes: bytes(ofJournal: journalPath, environment.fileSystem))
        let (journal, report) = try Journal.open(
            directory: journalPath, fileSystem: environment.fileSystem,
            options: options,
            identityIfNew: LogIdentity(
                high: identity.log.high, low: identity.log.low, epoch: identity.epoch),
            appliedPosition: store.appliedPosition)
        try agree(journal.identity, store, configuration)
        if let copy = report.tornCopy {
            configuration.events(.tornBatchCut, ["copy": copy])
        }
        if let missing = report.missing {
            configuration.events(.segmentsMissing, [:], "\(journalPath): \(missing)")
        }
        return try Committer(
            journal: journal, store: store, clock: environment.clock,
            limits: configuration.limits, log: configuration.events,
            notifier: environment.notifier)
    }

    /// Returns how much of the journal the start verifies: all of it, unless reading a long journal
    /// would take too much time.
    private static func verification(
        _ journal: String, _ files: any FileSystem
    ) throws(IOError) -> JournalOptions.Verification {
        guard files.exists(journal) else { return .full }
        let segments = try files.list(journal).count { $0.hasSuffix(".journal") }
        return segments <= DaemonLimits.segmentsVerified ? .full : .tail
    }

    /// Returns the bytes of a journal's segments; segments that can't be read count as empty.
    private static func bytes(ofJournal path: String, _ files: any FileSystem) -> UInt64 {
        let names = (try? files.list(path)) ?? []
        return names.filter { $0.hasSuffix(".journal") }.reduce(0) { sum, name in
            sum + ((try? files.open(path + "/" + name, .read).size()) ?? 0)
        }
    }

    /// Throws if there is a journal but no store, since a new store would belong to another log.
    private static func refuseLostStore(
        _ store: String, _ journal: String, _ files: any FileSystem
    ) throws {
        // The store always uses LMDB's own files, wherever the journal is.
        guard !RealFileSystem().exists(store + "/data.mdb"), files.exists(journal),
            try files.list(journal).contains(where: { $0.hasSuffix(".journal") })
        else { return }
        throw DaemonError(
            .storage,
            "\(store)/data.mdb is missing, but its journal exists; nothing was changed. Rebuild the "
                + "store from the journal with `tandem rebuild`, or restore both from one backup")
    }

    /// Checks that journal and store belong to the same log, and sets the store's epoch to the
    /// journal's.
    private static func agree(
        _ identity: LogIdentity, _ store: Store, _ configuration: DaemonConfiguration
    ) throws {
        guard identity.high == store.identity.log.high, identity.low == store.identity.log.low
        else {
            throw DaemonError(
                .storage,
                "journal and store in \(configuration.store) belong to different logs; run `tandem "
                    + "rebuild` if the journal is the right one, else restore both from one backup")
        }
        if identity.epoch != store.identity.epoch { try store.setEpoch(identity.epoch) }
    }

    private static func listener(
        _ configuration: DaemonConfiguration, _ descriptor: Int32?
    ) throws -> UnixListener? {
        if let descriptor { return try UnixListener.adopt(descriptor) }
        guard let path = configuration.socket else { return nil }
        do throws(IOError) {
            return try UnixListener.listen(
                path: path, mode: configuration.socketMode, group: configuration.socketGroup)
        } catch {
            guard error.operation == .changeGroup else { throw error }
            throw DaemonError(
                .system,
                "\(error): the daemon's user must be in the socket's group; add the "
                    + "user to it, start the daemon as root, or remove socket.group")
        }
    }
}

/// The mailbox for input that other threads leave for the daemon's thread.
final class DaemonMailbox: Sendable {
    private struct State {
        var isStopping = false
        var isClosed = false
        var sockets: [Socket] = []
    }

    private let state = Locked(State())

    /// Asks the daemon to stop.
    func stop() { state.withLock { $0.isStopping = true } }

    /// Adds the socket of a new client; a closed mailbox shuts it down.
    func add(_ socket: Socket) {
        state.withLock { state in
            guard !state.isClosed else { return socket.shutdown() }
            state.sockets.append(socket)
        }
    }

    /// Removes and returns the input since the last call.
    func drain() -> (isStopping: Bool, sockets: [Socket]) {
        state.withLock { state in
            defer { state.sockets = [] }
            return (state.isStopping, state.sockets)
        }
    }

    /// Shuts down all sockets, also those that are added later.
    func close() {
        state.withLock { state in
            state.isClosed = true
            for socket in state.sockets { socket.shutdown() }
            state.sockets = []
        }
    }
}
