import TandemIO

/// Writes the output of sessions, and measures the current slice of a turn.
final class SliceWriter {
    private let buffer = CoalescingBuffer()
    /// The number of bytes written since the current slice began.
    private(set) var bytes = 0
    /// The start of the current slices, in nanoseconds of the monotonic clock.
    private var began: UInt64 = 0

    /// Begins the slices of a turn.
    func beginTurn(at now: UInt64) { began = now }

    /// Begins a slice.
    func beginSlice() { bytes = 0 }

    /// Counts bytes that a socket accepted.
    func count(_ written: Int) {
        assert(written >= 0, "The count never decreases.")
        bytes += written
    }

    /// Returns whether the time for the slices is used up, so that saves have priority.
    func isLate(at now: UInt64) -> Bool { now >= began + DaemonLimits.sliceNanoseconds }

    /// Writes queued bytes; returns false if the connection is closed.
    func write(_ session: Session, _ counts: LimitCounters) -> Bool {
        let before = session.outboundBytes
        guard session.write(through: buffer) else { return false }
        bytes += before - session.outboundBytes
        if session.didReachLimit() { counts.record(.outboundBytes) }
        return true
    }

    /// Writes as much of the last answer of a session as its socket accepts.
    func writeLast(_ session: Session) { _ = session.write(through: buffer) }
}
