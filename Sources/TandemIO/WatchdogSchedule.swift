/// When a watched daemon gives a sign of life, and when it has to wake up for one.
///
/// A value without a clock: its owner says when it got something done. A sign is due half a timeout after the
/// last one, and only then when work was completed: a thread that hangs in a flush completes none, so the service manager hears
/// nothing and acts.
///
/// | time since the last sign | the owner completed something | nothing happens |
/// |---|---|---|
/// | below half the timeout | no sign | sleep until half |
/// | half the timeout or more | a sign | the owner is overdue |
///
///     var schedule = WatchdogSchedule(timeoutMicroseconds: 60_000_000, now: clock.monotonicNanoseconds)
///     if schedule.completed(at: clock.monotonicNanoseconds) { Notify.send(Notify.watchdog) }
public struct WatchdogSchedule: Hashable, Sendable {
    /// Nanoseconds between two signs of life.
    public let interval: UInt64
    /// When the last sign was given, in nanoseconds of the monotonic clock.
    public private(set) var last: UInt64

    /// A schedule for a timeout of the service manager; the first sign is due half of it after `now`.
    public init(timeoutMicroseconds: UInt64, now: UInt64) {
        // Half of it, in nanoseconds; thirty years are as good as more.
        interval = max(1, min(timeoutMicroseconds, 1 << 50) * 500)
        last = now
    }

    /// Notes that work was completed; true if a sign of life is due now.
    public mutating func completed(at now: UInt64) -> Bool {
        guard now >= nextWake else { return false }
        last = now
        return true
    }

    /// When the owner should wake up even if it has nothing to do.
    public var nextWake: UInt64 { last &+ interval }
}
