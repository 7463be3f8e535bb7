import TandemIO

/// What the daemon tells the service manager that started it, and when: that it starts and gets on, serves, lives, stops.
///
/// Bound to the daemon's thread. It speaks only of what was done: while a flush hangs nothing is sent, and the
/// manager's watchdog acts. A daemon inside another program tells nobody: its program may be a service itself.
final class Supervision {
    private let clock: any Clock
    private let send: (String) -> Void
    private var schedule: WatchdogSchedule?
    private let watchdogMicroseconds: UInt64?
    private var lastExtension: UInt64?
    private var lastStatus = ""

    /// So much longer the start may take, counted from each completed part of it.
    static let extensionMicroseconds: UInt64 = 60_000_000
    /// Completed parts of a start are told at most this often.
    static let extensionIntervalNanoseconds: UInt64 = 5_000_000_000
    /// Bytes that any disk reads in a second.
    static let bytesPerSecond: UInt64 = 8 << 20
    /// A change of the model may take so long before the watchdog acts.
    static let longestChangeMicroseconds: UInt64 = 6 * 3_600_000_000

    /// Supervision by whoever takes the messages; watched if there is a timeout.
    init(clock: any Clock, watchdogMicroseconds: UInt64?, send: @escaping (String) -> Void) {
        self.clock = clock
        self.watchdogMicroseconds = watchdogMicroseconds
        self.send = send
    }

    /// By systemd, as the environment says; nil where it did not start this process.
    static func systemd(_ clock: any Clock) -> Supervision? {
        guard ThisProcess.environment("NOTIFY_SOCKET") != nil else { return nil }
        return Supervision(
            clock: clock, watchdogMicroseconds: Notify.watchdogMicroseconds,
            send: { Notify.send($0) })
    }

    /// By nobody.
    static func none(_ clock: any Clock) -> Supervision {
        Supervision(clock: clock, watchdogMicroseconds: nil, send: { _ in })
    }

    // MARK: Starting

    /// A part of the start begins that reads so many bytes, without a word in between.
    func begins(_ part: String, readingBytes bytes: UInt64 = 0) {
        let reading = bytes / Self.bytesPerSecond * 1_000_000
        extend(by: Self.extensionMicroseconds + reading, part)
    }

    /// Another transaction of the journal's tail was applied, before the daemon serves or in the middle of it.
    func replayed(_ position: UInt64, of last: UInt64) {
        // One look at the clock for many transactions.
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

    /// The daemon serves; from now on the watchdog waits for signs of life.
    func ready(_ status: String) {
        schedule = watchdogMicroseconds.map {
            WatchdogSchedule(timeoutMicroseconds: $0, now: clock.monotonicNanoseconds)
        }
        lastStatus = status
        send(Notify.ready(status))
    }

    /// A round of the loop was completed, with all flushes that it needed; gives a sign of life if one is due.
    func passed(_ status: @autoclosure () -> String? = nil) {
        guard schedule?.completed(at: clock.monotonicNanoseconds) == true else { return }
        send(Notify.watchdog)
        if let status = status() { tell(status) }
    }

    /// When the loop should wake up even if nothing happens; nil when nobody watches.
    var nextWake: UInt64? { schedule?.nextWake }

    /// Tells how the daemon is, if that is news.
    func tell(_ status: String) {
        guard status != lastStatus else { return }
        lastStatus = status
        send(Notify.status(status))
    }

    /// Does something that may take hours in one piece, such as new indexes; the watchdog waits for it.
    func patiently<Result>(_ body: () throws -> Result) rethrows -> Result {
        guard schedule != nil, let watchdogMicroseconds else { return try body() }
        send(Notify.watchdog(everyMicroseconds: Self.longestChangeMicroseconds))
        defer {
            send(Notify.watchdog(everyMicroseconds: watchdogMicroseconds) + "\n" + Notify.watchdog)
        }
        return try body()
    }

    // MARK: Stopping

    /// The daemon stops.
    func stopping() {
        schedule = nil
        send(Notify.stopping + "\n" + Notify.status("stopping"))
    }
}
