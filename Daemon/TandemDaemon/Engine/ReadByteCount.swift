import TandemIO

/// The number of bytes held by waiting and running reads and by answers being sent.
struct ReadByteCount {
    private let clock: any Clock
    /// The number of bytes held, without the memory of running reads.
    private(set) var held = 0
    /// The memory of the running reads.
    let memory = ReadMemory()
    /// The heap-trim schedule for memory freed by reads.
    private(set) var trim = HeapTrimSchedule()

    init(_ clock: any Clock) { self.clock = clock }

    /// The number of bytes held by all reads.
    var total: Int { held + memory.bytes }

    /// Updates the number of bytes counted for a read.
    mutating func recount(_ read: PendingRead) { count(read.bytes, of: read) }

    /// Stops counting a read.
    mutating func uncount(_ read: PendingRead) { count(0, of: read) }

    private mutating func count(_ bytes: Int, of read: PendingRead) {
        let before = read.count(bytes: bytes)
        held += bytes - before
        assert(held >= 0, "Only counted bytes are subtracted.")
        recordFreed(before - bytes)
    }

    /// Records bytes that a read no longer holds.
    mutating func recordFreed(_ bytes: Int) {
        if bytes > 0 { trim.recordRead(bytes: bytes, now: clock.monotonicNanoseconds) }
    }

    /// Returns whether memory that reads freed is to be released now.
    ///
    /// `limit` bounds the bytes that reads hold together with the freed bytes.
    mutating func consumeFreedDue(limit: Int) -> Bool {
        trim.consumeDue(clock.monotonicNanoseconds, room: limit - held)
    }
}
