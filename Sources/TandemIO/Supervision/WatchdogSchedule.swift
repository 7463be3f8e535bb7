/// The times at which a watched daemon sends a watchdog message or has to wake up to send one.
///
/// The schedule has no clock: its owner reports completed work. A message is due half a timeout
/// after the last one, but only when work completes. A thread that hangs in a flush completes no
/// work, so the service manager receives no message and acts.
///
/// | time since the last message | the owner completed work | nothing happens |
/// |---|---|---|
/// | below half the timeout | no message | sleep until half |
/// | half the timeout or more | a message | the owner is overdue |
///
///     var schedule = WatchdogSchedule(timeoutMicroseconds: 60_000_000, now: start)
///     if schedule.completed(at: clock.monotonicNanoseconds) { Notify.send(Notify.watchdog) }
public struct WatchdogSchedule: Hashable, Sendable {
    /// The time between two messages, in nanoseconds.
    public let interval: UInt64
    /// The time of the last message, in nanoseconds of the monotonic clock.
    public private(set) var last: UInt64

    /// Creates a schedule for the service manager's timeout; the first message is due half a
    /// timeout after `now`.
    public init(timeoutMicroseconds: UInt64, now: UInt64) {
        // Half of the timeout, in nanoseconds. The limit, 2^50 µs (35 years), prevents an overflow.
        interval = max(1, min(timeoutMicroseconds, 1 << 50) * 500)
        last = now
    }

    /// Records that work was completed; returns whether a message is due now.
    public mutating func completed(at now: UInt64) -> Bool {
        guard now >= nextWake else { return false }
        last = now
        return true
    }

    /// The time at which the owner should wake up even if it has nothing to do.
    public var nextWake: UInt64 { last &+ interval }
}
