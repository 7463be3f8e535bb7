import TandemModel
import TandemWire

/// A save that is planned and applied, but not yet durable.
struct PlannedSave {
    var session: Session
    var id: UInt32
    var saved: SaveAnswer
    /// The arrival time of its bytes, in nanoseconds of the monotonic clock.
    var arrival: UInt64

    /// Whether the answer is recorded only in the store's idempotency table, not in the journal, so
    /// that a checkpoint must make it durable.
    var needsCheckpoint: Bool { !saved.wrote }
}
