import TandemModel
import TandemWire

/// A save as its client remembers it, over all connections.
final class SaveRecord {
    enum State {
        /// No answer yet: it may have happened.
        case open
        /// It happened.
        case acknowledged
        /// It did not happen.
        case refused
        /// Nobody can tell any more: its id is forgotten, or its epoch is over.
        case unknown
    }

    let request: SaveRequest
    /// The model that its slots are of.
    let model: CompiledModel
    /// The position that was known to anybody when it was first sent.
    let floor: UInt64
    /// The position at which its client stood then.
    let sentAt: UInt64
    let epoch: UInt32
    var state = State.open
    /// The first answer.
    var answer: Saved?
    /// True while it is under way on the present connection.
    var isSent = false
    /// True when it was under way ever.
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

/// A batch as its client remembers it, over all connections.
final class BatchRecord {
    let batch: Batch
    /// The position at which its client stood when it was first sent.
    let sentAt: UInt64
    let epoch: UInt32
    var state = SaveRecord.State.open
    /// The first answer of its end.
    var answer: Batched?
    /// True while it is under way on the present connection.
    var isSent = false
    /// True when it was under way ever.
    var wasSent = false

    init(_ batch: Batch, sentAt: UInt64, epoch: UInt32) {
        self.batch = batch
        self.sentAt = sentAt
        self.epoch = epoch
    }
}

/// A request without an answer.
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

/// What a client does wrong on purpose, so that the oracle has something to find.
enum ClientSabotage {
    /// One transaction that was pushed goes by unseen.
    case losesPush
    /// Of what a verdict is about, the opposite is told.
    case turnsVerdicts
    /// A fetch is given the answer of an earlier one.
    case readsOldAnswers
    /// Save ids are repeated also when they are forgotten.
    case ignoresFloor
}
