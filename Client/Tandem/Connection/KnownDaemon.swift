import TandemModel
import TandemWire

/// The state and limits that the daemon announced, and the current usage of these limits.
struct KnownDaemon: Sendable {
    /// Whether the daemon is read-only.
    var isReadOnly = false
    /// The limits in the last welcome.
    var limits = SessionLimits()
    /// The number of open controllers, limited by ``limits``.
    var openControllers = 0
    /// The number of tasks that wait for the journal's next transaction.
    private var waitingReaders = 0

    /// Counts a task that waits for the journal's next transaction.
    ///
    /// Throws `limitExceeded` if such tasks already take up half of the allowed requests in flight.
    mutating func beginWaiting() throws(TandemError) {
        let most = limits.requestsInFlight / 2
        guard waitingReaders < most else {
            throw TandemError(
                .limitExceeded,
                "\(most) sequences already wait for changes through this container; use another "
                    + "container for more")
        }
        waitingReaders += 1
    }

    /// Stops counting a task whose wait has ended.
    mutating func endWaiting() {
        assert(waitingReaders > 0, "A reader that ends its wait has begun it.")
        waitingReaders -= 1
    }
}

/// The reasons why there is no connection.
struct Disconnection: Sendable {
    /// The time when the socket was first found without a daemon; nil while a daemon listens.
    ///
    /// In nanoseconds of the monotonic clock.
    var absentSince: UInt64?
    /// The reason for the last loss, until the connection is ready again.
    var lastError: TandemError?
}

/// The absence of a daemon before the first connection.
///
/// A caller does not wait as long for an absent daemon as for a busy one.
struct Absence {
    /// The end of the wait for callers that have waited since the absence began.
    private let end: UInt64
    /// The time by which the waits of later callers are shortened, in nanoseconds.
    private let cut: UInt64

    init(since start: UInt64, _ limits: ClientLimits) {
        let wait = min(limits.absentMilliseconds, limits.connectMilliseconds)
        end = start &+ wait &* 1_000_000
        cut = (limits.connectMilliseconds - wait) &* 1_000_000
    }

    /// Returns the time when a caller with this deadline fails.
    func end(ofWaitUntil deadline: UInt64) -> UInt64 {
        min(deadline, max(end, deadline > cut ? deadline - cut : 0))
    }
}

/// The positions that contexts have pinned, by pin number.
///
/// The pins are restored after a reconnect.
struct PinnedPositions: Sendable {
    private(set) var positions: [UInt32: UInt64] = [:]
    private var last: UInt32 = 0

    /// Returns an unused pin number.
    mutating func next() -> UInt32 {
        last += 1
        return last
    }

    /// Records the position of a pin.
    mutating func hold(_ lease: UInt32, at position: UInt64) { positions[lease] = position }

    /// Forgets a pin; returns whether it was held.
    mutating func release(_ lease: UInt32) -> Bool { positions.removeValue(forKey: lease) != nil }

    /// Forgets all pins, because the daemon has a different log or epoch.
    mutating func releaseAll() { positions.removeAll() }
}
