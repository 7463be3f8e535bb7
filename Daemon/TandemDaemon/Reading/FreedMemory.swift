/// When memory that large reads needed and that is free again goes back to the system.
///
/// Reads of many megabytes follow one another while somebody opens lists; to get their memory anew each time took a fifth of their
/// time. So it stays for a while, and goes when no more came.
///
/// Freed memory counts like the bytes that reads hold: beyond `limits.readBytes` it is released although reads follow one another.
///
///     freed.noteRead(bytes: 6_000_000, now: clock.monotonicNanoseconds)
///     if freed.takeDue(now, room: 50_000_000) { ThisProcess.releaseMemory() }
struct FreedMemory {
    /// When it goes; nil while there is nothing of which it is worth while.
    private(set) var due: UInt64?
    /// The bytes freed since memory was released last; memory that was used again meanwhile counts twice.
    private(set) var bytes = 0

    /// Records that a read freed `bytes`.
    mutating func noteRead(bytes: Int, now: UInt64) {
        guard bytes >= DaemonLimits.largeReadBytes else { return }
        due = now + DaemonLimits.freedMemoryNanoseconds
        self.bytes += bytes
    }

    /// Whether freed memory is to be released: the time has come, or it takes more than `room`, which reads leave of their limit,
    /// and more than is always kept.
    ///
    /// True once, until more is freed.
    mutating func takeDue(_ now: UInt64, room: Int) -> Bool {
        let isTooLarge = bytes > max(room, Int(DaemonLimits.keptMemoryBytes))
        guard let due, now >= due || isTooLarge else { return false }
        self.due = nil
        bytes = 0
        return true
    }
}
