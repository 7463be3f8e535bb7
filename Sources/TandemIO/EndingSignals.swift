import Glibc

/// The signals that end a program, handled by a program with something to do before.
public enum EndingSignals {
    /// Starts a thread that waits for SIGINT, SIGTERM or SIGHUP, calls `body`, and ends the process by that signal.
    ///
    /// Call it on the main thread before any other thread is started: it blocks the signals there, and new threads inherit that. A
    /// signal that is ignored, as under `nohup`, stays ignored.
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
        // Handlers are numbers, the one that ignores is 1.
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
