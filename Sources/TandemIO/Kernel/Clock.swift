import Glibc

/// A source of time.
///
/// No ordering depends on a clock. Timers use the monotonic clock, so setting the wall clock does
/// not affect them. The monotonic clock stops while the machine is suspended. This is intentional:
/// daemon and clients are suspended together, so a suspension causes no timeouts.
public protocol Clock: AnyObject, Sendable {
    /// Nanoseconds since an arbitrary moment; never decreases.
    var monotonicNanoseconds: UInt64 { get }
    /// Microseconds since 1970 in UTC; may jump.
    var wallMicroseconds: Int64 { get }
}

/// The kernel's clocks.
public final class SystemClock: Clock {
    /// Creates a clock that reads the kernel's clocks.
    public init() {}

    /// Nanoseconds since the machine started, excluding the time during which it was suspended.
    public var monotonicNanoseconds: UInt64 { Self.monotonicNanoseconds }

    /// Microseconds since 1970 in UTC.
    public var wallMicroseconds: Int64 {
        let now = Self.read(CLOCK_REALTIME)
        return Int64(now.tv_sec) &* 1_000_000 &+ Int64(now.tv_nsec) / 1_000
    }

    /// The monotonic clock, for code that measures durations and has no clock injected.
    static var monotonicNanoseconds: UInt64 {
        let now = read(CLOCK_MONOTONIC)
        return UInt64(now.tv_sec) &* 1_000_000_000 &+ UInt64(now.tv_nsec)
    }

    private static func read(_ which: clockid_t) -> timespec {
        var now = timespec()
        clock_gettime(which, &now)
        return now
    }
}

/// A clock that changes only when a test moves it.
public final class ManualClock: Clock {
    private let state: Locked<(monotonic: UInt64, wall: Int64)>

    /// Creates a clock that shows the given times.
    public init(monotonicNanoseconds: UInt64 = 0, wallMicroseconds: Int64 = 0) {
        state = Locked((monotonicNanoseconds, wallMicroseconds))
    }

    /// Nanoseconds; changed only by ``advance(byNanoseconds:)``.
    public var monotonicNanoseconds: UInt64 { state.withLock { $0.monotonic } }

    /// Microseconds since 1970; changed by ``advance(byNanoseconds:)`` and
    /// ``setWall(microseconds:)``.
    public var wallMicroseconds: Int64 { state.withLock { $0.wall } }

    /// Moves both clocks forward.
    public func advance(byNanoseconds nanoseconds: UInt64) {
        state.withLock {
            $0.monotonic += nanoseconds
            $0.wall += Int64(nanoseconds / 1_000)
        }
    }

    /// Sets the wall clock.
    public func setWall(microseconds: Int64) {
        state.withLock { $0.wall = microseconds }
    }
}
