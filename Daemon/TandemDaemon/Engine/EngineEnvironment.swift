import TandemIO

/// The constant environment of an engine: its clock, log and notifier, and values for reports.
struct EngineEnvironment {
    let clock: any Clock
    let log: DaemonLog
    /// The notifier that sends the daemon's state to the service manager.
    let notifier: ServiceNotifier
    let storePath: String
    let startedAt: UInt64

    init(clock: any Clock, log: DaemonLog, notifier: ServiceNotifier?, storePath: String) {
        (self.clock, self.log, self.storePath) = (clock, log, storePath)
        self.notifier = notifier ?? .none(clock)
        startedAt = clock.monotonicNanoseconds
    }
}
