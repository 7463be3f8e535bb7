import Dispatch
public import Tandem
public import TandemDaemon
import TandemIO

/// A daemon inside this process, on its own thread, for single-process apps and tests.
///
/// It is the same daemon that `tandemd` runs, with its journal and store in a directory. Clients
/// connect over socket pairs. If the configuration names a socket, other processes can connect
/// there.
///
///     let daemon = try EmbeddedDaemon(DaemonConfiguration(store: directory))
///     let container = PersistentContainer(model: model, transport: daemon.transport)
///     …
///     try daemon.stop()
public final class EmbeddedDaemon: Sendable {
    private let handle: Daemon.Handle
    private let thread: KernelThread
    private let outcome: Outcome

    /// The reports of the daemon's thread; the semaphore is signalled when it has opened or failed.
    private final class Outcome: Sendable {
        let opened = DispatchSemaphore(value: 0)
        let handle = Locked<Result<Daemon.Handle, DaemonError>?>(nil)
        let failure = Locked<DaemonError?>(nil)

        func report(_ result: Result<Daemon.Handle, DaemonError>) {
            handle.withLock { $0 = result }
            opened.signal()
        }
    }

    /// Starts the daemon; blocks until it has recovered and accepts connections.
    ///
    /// Throws the ``DaemonError`` of ``Daemon/open(_:adopting:)``.
    public init(_ configuration: DaemonConfiguration) throws(DaemonError) {
        let outcome = Outcome()
        do {
            thread = try KernelThread.start(name: "tandemd", stackBytes: 8 << 20) {
                EmbeddedDaemon.run(configuration, outcome)
            }
        } catch {
            throw DaemonError(.system, error.description)
        }
        outcome.opened.wait()
        self.outcome = outcome
        switch outcome.handle.withLock({ $0 }) {
        case .success(let handle): self.handle = handle
        case .failure(let error): throw error
        case nil: throw DaemonError(.system, "the daemon's thread ended before the store was open")
        }
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

    /// The transport for containers of this process; each connection is a socket pair.
    public var transport: Transport {
        let handle = handle
        return .connected { try Self.connect(to: handle) }
    }

    /// A transport that also retains the daemon.
    var keptByTransport: Transport { .connected { [self] in try Self.connect(to: handle) } }

    private static func connect(to handle: Daemon.Handle) throws -> Socket {
        let (mine, its) = try Socket.pair()
        handle.connect(its)
        return mine
    }

    /// Stops the daemon after it has processed the accepted requests; blocks until its checkpoint.
    ///
    /// Throws ``DaemonError`` if the journal or the store failed while it ran.
    public func stop() throws(DaemonError) {
        handle.stop()
        thread.join()
        if let error = outcome.failure.withLock({ $0 }) { throw error }
    }
}
