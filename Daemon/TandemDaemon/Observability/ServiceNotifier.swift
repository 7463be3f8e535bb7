import TandemIO

/// Reports the daemon's state to the service manager: start, progress, readiness, liveness, stop.
///
/// Bound to the daemon's thread. Only completed work is reported: while a flush hangs nothing is
/// sent, and the manager's watchdog intervenes. A daemon embedded in another program reports
/// nothing, because that program may be a service itself.
final class ServiceNotifier {
    private let clock: any Clock
    private let send: (String) -> Void
    private var schedule: WatchdogSchedule?
    private let watchdogMicroseconds: UInt64?
    private var lastExtension: UInt64?
    private var lastStatus = ""

    /// The time by which each report during the start extends the start timeout.
    static let extensionMicroseconds: UInt64 = 60_000_000
    /// The minimum interval between progress reports during the start.
    static let extensionIntervalNanoseconds: UInt64 = 5_000_000_000
    /// A lower bound on the read speed of any disk, in bytes per second.
    static let bytesPerSecond: UInt64 = 8 << 20
    /// The maximum duration of a model change before the watchdog intervenes.
    static let longestChangeMicroseconds: UInt64 = 6 * 3_600_000_000

    /// Creates a notifier that sends its messages with `send`; a timeout enables the watchdog.
    init(clock: any Clock, watchdogMicroseconds: UInt64?, send: @escaping (String) -> Void) {
        self.clock = clock
        self.watchdogMicroseconds = watchdogMicroseconds
        self.send = send
    }

    /// Returns a notifier for systemd from the environment, or nil if systemd didn't start this
    /// process.
    static func systemd(_ clock: any Clock) -> ServiceNotifier? {
        guard ThisProcess.environment("NOTIFY_SOCKET") != nil else { return nil }
        return ServiceNotifier(
            clock: clock, watchdogMicroseconds: Notify.watchdogMicroseconds,
            send: { Notify.send($0) })
    }

    /// Returns a notifier that sends no messages.
    static func none(_ clock: any Clock) -> ServiceNotifier {
        ServiceNotifier(clock: clock, watchdogMicroseconds: nil, send: { _ in })
    }

    // MARK: Starting

    /// Reports the beginning of a phase of the start.
    ///
    /// `bytes` is the number of bytes that the phase reads; the timeout is extended accordingly.
    func begins(_ part: String, readingBytes bytes: UInt64 = 0) {
        let reading = bytes / Self.bytesPerSecond * 1_000_000
        extend(by: Self.extensionMicroseconds + reading, part)
    }

    /// Reports that a replay has applied the transaction at a position.
    ///
    /// A replay takes place at the start, and after the store was reverted.
    func replayed(_ position: UInt64, of last: UInt64) {
        // The clock is read only once for many transactions.
        guard position % 256 == 0 else { return }
        guard schedule == nil else { return passed() }
        let now = clock.monotonicNanoseconds
        let isDue = lastExtension.map { now >= $0 + Self.extensionIntervalNanoseconds } ?? true
        if isDue { extend(by: Self.extensionMicroseconds, "replaying \(position) of \(last)") }
    }

    private func extend(by microseconds: UInt64, _ status: String) {
        lastExtension = clock.monotonicNanoseconds
        send(Notify.extendTimeout(microseconds: microseconds) + "\n" + Notify.status(status))
    }

    // MARK: Serving

    /// Reports that the daemon is ready, and starts the watchdog.
    func ready(_ status: String) {
        schedule = watchdogMicroseconds.map {
            WatchdogSchedule(timeoutMicroseconds: $0, now: clock.monotonicNanoseconds)
        }
        lastStatus = status
        send(Notify.ready(status))
    }

    /// Records a completed round of the loop with its flushes; sends a watchdog message if one is
    /// due.
    func passed(_ status: @autoclosure () -> String? = nil) {
        guard schedule?.completed(at: clock.monotonicNanoseconds) == true else { return }
        send(Notify.watchdog)
        if let status = status() { report(status) }
    }

    /// The time at which the loop should wake up even without events; nil without a watchdog.
    var nextWake: UInt64? { schedule?.nextWake }

    /// Reports the daemon's status if it has changed.
    func report(_ status: String) {
        guard status != lastStatus else { return }
        lastStatus = status
        send(Notify.status(status))
    }

    /// Runs an operation that may take hours without a pause, such as indexing, with a longer
    /// watchdog timeout.
    func patiently<Result>(_ body: () throws -> Result) rethrows -> Result {
        guard schedule != nil, let watchdogMicroseconds else { return try body() }
        send(Notify.watchdog(everyMicroseconds: Self.longestChangeMicroseconds))
        defer {
            send(Notify.watchdog(everyMicroseconds: watchdogMicroseconds) + "\n" + Notify.watchdog)
        }
        return try body()
    }

    // MARK: Stopping

    /// Reports that the daemon is stopping.
    func stopping() {
        schedule = nil
        send(Notify.stopping + "\n" + Notify.status("stopping"))
    }
}
