/// The schedule for returning memory freed by large reads to the system.
///
/// While lists are opened, reads of many megabytes follow one another. Allocating their memory from
/// the system each time took a fifth of their time. So freed memory is kept for a while, and
/// released if no large read follows.
///
/// Freed memory counts like the bytes that reads hold: if both exceed `limits.readBytes`, it is
/// released even while reads follow one another.
///
///     freed.recordRead(bytes: 6_000_000, now: clock.monotonicNanoseconds)
///     if freed.consumeDue(now, room: 50_000_000) { ThisProcess.releaseMemory() }
struct HeapTrimSchedule {
    /// The time of the next release; nil if there is not enough freed memory.
    private(set) var due: UInt64?
    /// The number of bytes freed since the last release; memory that was reused in between counts
    /// twice.
    private(set) var bytes = 0

    /// Records that a read freed `bytes`.
    mutating func recordRead(bytes: Int, now: UInt64) {
        guard bytes >= DaemonLimits.largeReadBytes else { return }
        due = now + DaemonLimits.heapTrimNanoseconds
        self.bytes += bytes
    }

    /// Returns whether to release freed memory: it is due, or the freed bytes exceed `room`.
    ///
    /// `room` is the part of the limit that reads do not use. Bytes below the amount that is always
    /// kept are not released early. Returns true once, until more memory is freed.
    mutating func consumeDue(_ now: UInt64, room: Int) -> Bool {
        let isTooLarge = bytes > max(room, Int(DaemonLimits.keptMemoryBytes))
        guard let due, now >= due || isTooLarge else { return false }
        self.due = nil
        bytes = 0
        return true
    }
}
