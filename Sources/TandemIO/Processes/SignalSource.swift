import Glibc

/// Delivers SIGTERM, SIGINT and SIGHUP as readable events of a ``Poller``.
///
/// The signals are blocked in the calling thread and in threads started later, so create the source
/// on the main thread before any other thread starts. SIGPIPE and SIGXFSZ are ignored from then on:
/// the calls that cause them return errors.
public final class SignalSource {
    /// A signal that a daemon handles.
    public enum Signal: Hashable, Sendable {
        /// A request to stop (SIGTERM).
        case terminate
        /// A request to stop from the keyboard (SIGINT).
        case interrupt
        /// A request to reload the configuration (SIGHUP).
        case hangUp
    }

    /// The descriptor, readable while a signal is pending.
    public let descriptor: Int32

    /// Blocks the signals and starts to collect them.
    public init() throws(IOError) {
        var set = sigset_t()
        sigemptyset(&set)
        for number in [SIGTERM, SIGINT, SIGHUP] { sigaddset(&set, number) }
        let result = pthread_sigmask(SIG_BLOCK, &set, nil)
        if result != 0 { throw IOError(.watchSignals, "<signals>", errno: result) }
        _ = signal(SIGPIPE, SIG_IGN)
        _ = signal(SIGXFSZ, SIG_IGN)
        descriptor = try check(.watchSignals, "<signals>") {
            Linux.signalDescriptor(-1, &set, Linux.closeOnExec | Linux.nonBlocking)
        }
    }

    deinit { _ = Glibc.close(descriptor) }

    /// Returns the next pending signal, or nil if there is none.
    public func next() -> Signal? {
        // struct signalfd_siginfo is 128 bytes and begins with the number.
        withUnsafeTemporaryAllocation(byteCount: 128, alignment: 8) { info in
            while Glibc.read(descriptor, info.baseAddress, 128) == 128 {
                switch Int32(bitPattern: info.load(as: UInt32.self)) {
                case SIGTERM: return .terminate
                case SIGINT: return .interrupt
                case SIGHUP: return .hangUp
                default: continue
                }
            }
            return nil
        }
    }
}
