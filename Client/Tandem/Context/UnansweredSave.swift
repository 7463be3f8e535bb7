import TandemModel
import TandemWire

/// A save that was sent and is not settled: its request, and the objects whose edits are in flight.
final class UnansweredSave {
    var request: SaveRequest
    var records: [ObjectRecord]
    /// What of it a new model has no place for, if it has not happened.
    var lost = LostEdits()
    /// The model that the request's slots are of.
    var model: CompiledModel
    /// The last position that was known when it was sent first.
    let sentAt: UInt64
    /// Whether its id was made for it, so that nobody else saves under it.
    let hasOwnID: Bool
    /// Whether the outcome is unknown, so that it has to be repeated before the next save.
    var isUnknown = false
    /// Whether its transaction was merged.
    var isMerged = false
    /// Whether it is known, too, what its inserts became: only the answer itself is to come.
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

    /// Whether it is this save that a transaction is of.
    func isMade(by transaction: Transaction) -> Bool {
        transaction.saveID == request.saveID && transaction.contentHash == request.contentHash
    }

    /// What the inserts became, by the header of this save's own transaction.
    func outcomes(by exceptions: [InsertException]) -> [ObjectReference?] {
        var outcomes: [ObjectReference?] = request.inserts
        for exception in exceptions where exception.index < outcomes.count {
            outcomes[exception.index] = exception.object
        }
        return outcomes
    }
}
