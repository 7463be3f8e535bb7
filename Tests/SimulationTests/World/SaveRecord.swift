import TandemModel
import TandemWire

/// A save as its client remembers it, across connections.
final class SaveRecord {
    enum State {
        /// Not answered; it may have been applied.
        case open
        /// Applied.
        case acknowledged
        /// Not applied.
        case refused
        /// Undecidable, because its id is forgotten, or its epoch is over.
        case unknown
    }

    let request: SaveRequest
    /// The model of its slots.
    let model: CompiledModel
    /// The highest position known to any client when the save was first sent.
    let floor: UInt64
    /// The client's cursor at that time.
    let sentAt: UInt64
    let epoch: UInt32
    var state = State.open
    /// The first answer.
    var answer: SaveAnswer?
    /// Whether the save is in flight on the current connection.
    var isSent = false
    /// Whether the save was ever sent.
    var wasSent = false

    init(
        _ request: SaveRequest, _ model: CompiledModel, floor: UInt64, sentAt: UInt64, epoch: UInt32
    ) {
        self.request = request
        self.model = model
        self.floor = floor
        self.sentAt = sentAt
        self.epoch = epoch
    }
}

/// A batch as its client remembers it, across connections.
final class BatchRecord {
    let batch: Batch
    /// The client's cursor when the batch was first sent.
    let sentAt: UInt64
    let epoch: UInt32
    var state = SaveRecord.State.open
    /// The first answer after its end.
    var answer: BatchAnswer?
    /// Whether the batch is in flight on the current connection.
    var isSent = false
    /// Whether the batch was ever sent.
    var wasSent = false

    init(_ batch: Batch, sentAt: UInt64, epoch: UInt32) {
        self.batch = batch
        self.sentAt = sentAt
        self.epoch = epoch
    }
}

/// A request in flight.
enum OpenRequest {
    case batch(BatchRecord)
    case save(SaveRecord)
    case fetch(Fetch, floor: UInt64)
    case read(Read, floor: UInt64)
    case sync(UInt64, floor: UInt64)
    case history(HistoryRequest)
    case verdicts(VerdictRequest, [SimulatedList], floor: UInt64)
    case pin(PinRequest)
    case lease
    case schema
    case status
}

/// A deliberate defect of a client, which the oracle must report.
enum ClientSabotage {
    /// One pushed transaction is ignored.
    case losesPush
    /// A verdict is inverted.
    case turnsVerdicts
    /// A fetch gets the answer of an earlier one.
    case readsOldAnswers
    /// Save ids are repeated even if they are forgotten.
    case ignoresFloor
}
