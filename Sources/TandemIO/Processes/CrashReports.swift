import Glibc

/// The reports that the Swift runtime prints when a process crashes.
package enum CrashReports {
    /// Disables the reports for this process.
    ///
    /// Use this in a child whose parent reports the crash.
    package static func disable() {
        for number in [SIGSEGV, SIGBUS, SIGILL, SIGTRAP, SIGFPE, SIGABRT] {
            _ = signal(number, SIG_DFL)
        }
    }
}
