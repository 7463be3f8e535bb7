/// A position at which a client reads; the journal keeps later transactions until the pin ends.
struct PinLease {
    let position: UInt64
    /// The end of the pin, in nanoseconds of the monotonic clock.
    let ends: UInt64
}
