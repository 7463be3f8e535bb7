import Glibc

/// A handler for the signals that end a program, for programs that have to clean up first.
public enum EndingSignals {
    /// Starts a thread that calls `body` on SIGINT, SIGTERM or SIGHUP, and then ends the process by
    /// that signal.
    ///
    /// Call this on the main thread before any other thread starts. The signals are blocked there,
    /// and new threads inherit the mask. A signal that is ignored, as under `nohup`, stays ignored.
    public static func handle(_ body: @escaping @Sendable () -> Void) throws(IOError) {
        var set = sigset_t()
        sigemptyset(&set)
        let handled = [SIGINT, SIGTERM, SIGHUP].filter { !isIgnored($0) }
        for number in handled { sigaddset(&set, number) }
        guard !handled.isEmpty else { return }
        let result = pthread_sigmask(SIG_BLOCK, &set, nil)
        if result != 0 { throw IOError(.watchSignals, "<signals>", errno: result) }
        _ = try KernelThread.start(name: "signals") { [set] in
            var set = set
            var number: Int32 = 0
            while sigwait(&set, &number) != 0 {}
            body()
            end(by: number)
        }
    }

    private static func isIgnored(_ number: Int32) -> Bool {
        var action = sigaction()
        guard sigaction(number, nil, &action) == 0 else { return false }
        // SIG_IGN is the number 1.
        return unsafeBitCast(action.__sigaction_handler.sa_handler, to: Int.self) == 1
    }

    private static func end(by number: Int32) -> Never {
        _ = signal(number, SIG_DFL)
        var set = sigset_t()
        sigemptyset(&set)
        sigaddset(&set, number)
        pthread_sigmask(SIG_UNBLOCK, &set, nil)
        raise(number)
        exit(128 + number)
    }
}
