import TandemModel
import TandemWire

/// An in-flight save: its request, and the objects whose edits are in flight.
final class InFlightSave {
    var request: SaveRequest
    var records: [ObjectRecord]
    /// The edits that do not exist in a new model, to be reported if the save did not happen.
    var lost = DroppedEdits()
    /// The model to which the request's slots belong.
    var model: CompiledModel
    /// The last known position when the save was first sent.
    let sentAt: UInt64
    /// Whether the id was generated for this save, so that no other save can have the same one.
    let hasOwnID: Bool
    /// Whether the outcome is unknown, so that the save has to be retried before the next one.
    var isUnknown = false
    /// Whether its transaction was merged.
    var isMerged = false
    /// Whether the outcomes of its inserts are known as well, so that only the answer is missing.
    var isSettled = false

    init(
        request: SaveRequest, records: [ObjectRecord], model: CompiledModel, sentAt: UInt64,
        hasOwnID: Bool
    ) {
        self.request = request
        self.records = records
        self.model = model
        self.sentAt = sentAt
        self.hasOwnID = hasOwnID
    }

    /// Returns whether a transaction is that of this save.
    func isMade(by transaction: Transaction) -> Bool {
        transaction.saveID == request.saveID && transaction.contentHash == request.contentHash
    }

    /// Returns the outcomes of the inserts, from the header of this save's transaction.
    func outcomes(by exceptions: [InsertException]) -> [ObjectReference?] {
        var outcomes: [ObjectReference?] = request.inserts
        for exception in exceptions where exception.index < outcomes.count {
            outcomes[exception.index] = exception.object
        }
        return outcomes
    }
}
