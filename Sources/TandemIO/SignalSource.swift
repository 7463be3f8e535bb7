import Glibc

/// Delivers SIGTERM, SIGINT and SIGHUP as readable events of a ``Poller``.
///
/// These signals are blocked in the calling thread and in threads started after, so make it on the
/// main thread before any other thread starts. SIGPIPE and SIGXFSZ are ignored from then on: the
/// calls that cause them return errors.
public final class SignalSource {
    /// A signal that a daemon acts on.
    public enum Signal: Hashable, Sendable {
        /// Stop (SIGTERM).
        case terminate
        /// Stop, from the keyboard (SIGINT).
        case interrupt
        /// Read the configuration again (SIGHUP).
        case hangUp
    }

    /// Readable while a signal waits.
    public let descriptor: Int32

    /// Blocks the signals and begins to collect them.
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

    /// The next signal that came, or nil.
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
