/// When memory that large reads needed and that is free again goes back to the system.
///
/// Reads of many megabytes follow one another while somebody opens lists; to get their memory anew each time took a fifth of their
/// time. So it stays for a while, and goes when no more came.
///
///     freed.noteRead(bytes: 6_000_000, now: clock.monotonicNanoseconds)
///     if freed.takeDue(now) { ThisProcess.releaseMemory() }
struct FreedMemory {
    /// When it goes; nil while there is nothing of which it is worth while.
    private(set) var due: UInt64?

    /// A read of so many bytes ended.
    mutating func noteRead(bytes: Int, now: UInt64) {
        guard bytes >= DaemonLimits.largeReadBytes else { return }
        due = now + DaemonLimits.freedMemoryNanoseconds
    }

    /// Whether it is time, which is said once.
    mutating func takeDue(_ now: UInt64) -> Bool {
        guard let due, now >= due else { return false }
        self.due = nil
        return true
    }
}
