import Glibc

/// Where the time comes from.
///
/// Order never depends on it. Timers use the monotonic one, so a wall clock that is set moves none of them. It stands still while the
/// machine sleeps, on purpose: daemon and clients sleep together, and an answer is not late because the lid was closed.
public protocol Clock: AnyObject, Sendable {
    /// Nanoseconds since some moment; never goes back.
    var monotonicNanoseconds: UInt64 { get }
    /// Microseconds since 1970 in UTC; may jump.
    var wallMicroseconds: Int64 { get }
}

/// The kernel's clocks.
public final class SystemClock: Clock {
    /// Makes a view of the kernel's clocks.
    public init() {}

    /// Nanoseconds since the machine started, without the time it slept.
    public var monotonicNanoseconds: UInt64 { Self.monotonicNanoseconds }

    /// Microseconds since 1970 in UTC.
    public var wallMicroseconds: Int64 {
        let now = Self.read(CLOCK_REALTIME)
        return Int64(now.tv_sec) &* 1_000_000 &+ Int64(now.tv_nsec) / 1_000
    }

    /// The same for who measures a time and has no clock.
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

/// A clock that stands still until it is moved, for tests.
public final class ManualClock: Clock {
    private let state: Locked<(monotonic: UInt64, wall: Int64)>

    /// Makes a clock that stands at the given times.
    public init(monotonicNanoseconds: UInt64 = 0, wallMicroseconds: Int64 = 0) {
        state = Locked((monotonicNanoseconds, wallMicroseconds))
    }

    /// Nanoseconds; moves by ``advance(byNanoseconds:)`` only.
    public var monotonicNanoseconds: UInt64 { state.withLock { $0.monotonic } }

    /// Microseconds since 1970; moves by ``advance(byNanoseconds:)`` and ``setWall(microseconds:)``.
    public var wallMicroseconds: Int64 { state.withLock { $0.wall } }

    /// Moves both clocks forward.
    public func advance(byNanoseconds nanoseconds: UInt64) {
        state.withLock {
            $0.monotonic += nanoseconds
            $0.wall += Int64(nanoseconds / 1_000)
        }
    }

    /// Lets the wall clock jump.
    public func setWall(microseconds: Int64) {
        state.withLock { $0.wall = microseconds }
    }
}
