import Dispatch
public import Tandem
public import TandemDaemon
import TandemIO

/// A daemon inside this process, on its own thread, for single-process apps and tests.
///
/// The daemon is the same as in `tandemd`, with its journal and store in a directory. Clients
/// connect over socket pairs. If the configuration names a socket, other processes can connect to
/// it.
///
///     let daemon = try EmbeddedDaemon(DaemonConfiguration(store: directory))
///     let container = PersistentContainer(model: model, transport: daemon.transport)
///     …
///     try daemon.stop()
public final class EmbeddedDaemon: Sendable {
    private let handle: Daemon.Handle
    private let thread: KernelThread
    private let outcome: Outcome

    /// The results that the daemon's thread reports.
    private final class Outcome: Sendable {
        let handle = Locked<Result<Daemon.Handle, DaemonError>?>(nil)
        let failure = Locked<DaemonError?>(nil)
        /// Called when the store has been opened, and when opening or running the daemon fails.
        private let opened: @Sendable () -> Void

        init(_ opened: @escaping @Sendable () -> Void) { self.opened = opened }

        func report(_ result: Result<Daemon.Handle, DaemonError>) {
            handle.withLock { $0 = result }
            opened()
        }
    }

    /// A daemon that is being started.
    private struct Start {
        let thread: KernelThread
        let outcome: Outcome

        init(
            _ configuration: DaemonConfiguration, _ opened: @escaping @Sendable () -> Void
        ) throws(DaemonError) {
            let outcome = Outcome(opened)
            self.outcome = outcome
            do {
                thread = try KernelThread.start(name: "tandemd", stackBytes: 8 << 20) {
                    EmbeddedDaemon.run(configuration, outcome)
                }
            } catch {
                throw DaemonError(.system, error.description)
            }
        }
    }

    /// Starts the daemon; blocks until it has recovered and accepts connections.
    ///
    /// Throws the ``DaemonError`` of ``Daemon/open(_:adopting:)``.
    public convenience init(_ configuration: DaemonConfiguration) throws(DaemonError) {
        let opened = DispatchSemaphore(value: 0)
        let start = try Start(configuration) { opened.signal() }
        opened.wait()
        try self.init(start)
    }

    /// Starts a daemon with the default configuration; blocks until it accepts connections.
    ///
    /// Use it if several containers of a program share a store, or to wait for the daemon's end
    /// with ``stop()``; otherwise `PersistentContainer.embedded(entities:at:)` suffices.
    ///
    ///     let daemon = try EmbeddedDaemon(store: directory)
    ///     let container = PersistentContainer(entities: types, transport: daemon.transport)
    ///
    /// - Parameters:
    ///   - store: The directory of the journal and the store, which is created if it is missing.
    ///   - socket: The path of a socket to which other processes can connect; nil for none.
    /// - Throws: `limitExceeded` if another daemon uses the store or the socket, `readOnly` if
    ///   there is not enough space, `storage` for a damaged store or a failed system call.
    public convenience init(store: String, socket: String? = nil) throws(TandemError) {
        do throws(DaemonError) {
            try self.init(DaemonConfiguration(store: store, socket: socket))
        } catch {
            throw error.openingError(store)
        }
    }

    private init(_ start: Start) throws(DaemonError) {
        thread = start.thread
        outcome = start.outcome
        switch start.outcome.handle.withLock({ $0 }) {
        case .success(let handle): self.handle = handle
        case .failure(let error): throw error
        case nil: throw DaemonError(.system, "the daemon's thread ended before the store was open")
        }
    }

    /// Starts a daemon, and waits without blocking the thread until it accepts connections.
    static func started(_ configuration: DaemonConfiguration) async throws(DaemonError)
        -> EmbeddedDaemon
    {
        let (opening, opened) = AsyncStream<Never>.makeStream()
        let start = try Start(configuration) { opened.finish() }
        for await _ in opening {}
        return try EmbeddedDaemon(start)
    }

    private static func run(_ configuration: DaemonConfiguration, _ outcome: Outcome) {
        do throws(DaemonError) {
            let daemon = try Daemon.open(configuration)
            outcome.report(.success(daemon.handle))
            try daemon.run()
        } catch {
            outcome.failure.withLock { $0 = error }
            outcome.report(.failure(error))
        }
    }

    deinit { handle.stop() }

    /// The transport for containers in this process; each connection is a socket pair.
    public var transport: Transport {
        let handle = handle
        return .connected { try Self.connect(to: handle) }
    }

    /// A transport that also retains the daemon.
    var retainingTransport: Transport { .connected { [self] in try Self.connect(to: handle) } }

    private static func connect(to handle: Daemon.Handle) throws -> Socket {
        let (mine, its) = try Socket.pair()
        handle.connect(its)
        return mine
    }

    /// Stops the daemon; blocks until its last checkpoint is done and all connections are closed.
    ///
    /// Containers repeat requests that were not answered if their transport finds another daemon.
    /// Throws ``DaemonError`` if the journal or the store failed while the daemon was running.
    public func stop() throws(DaemonError) {
        handle.stop()
        thread.join()
        if let error = outcome.failure.withLock({ $0 }) { throw error }
    }
}

extension DaemonError {
    /// Returns the error that a container throws if the daemon could not open the store at this
    /// path.
    func openingError(_ store: String) -> TandemError {
        let code: TandemError.Code =
            switch self.code {
            case .inUse: .limitExceeded
            case .noSpace: .readOnly
            case .storage, .system: .storage
            }
        return TandemError(code, "the store \(store) cannot be opened: \(self)")
    }
}
