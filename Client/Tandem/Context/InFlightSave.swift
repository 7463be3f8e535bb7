import TandemModel
import TandemWire

/// An in-flight save: its request, and the objects whose edits are in flight.
final class InFlightSave {
    var request: SaveRequest
    var records: [ObjectRecord]
    /// The edits to properties that a new model lacks, to be reported if the save was not applied.
    var lost = DroppedEdits()
    /// The model to which the request's slots belong.
    var model: CompiledModel
    /// The last known position when the save was first sent.
    let sentAt: UInt64
    /// Whether the id was generated for this save, so that no other save can have the same id.
    let hasOwnID: Bool
    /// The progress of the save.
    private var stage = Stage.sent

    private enum Stage {
        /// The answer is awaited.
        case sent
        /// The save may have been applied; it has to be retried before the next save.
        case unknown
        /// The transaction was merged; the outcomes of the inserts are not known yet.
        case merged(isUnknown: Bool)
        /// The outcomes of the inserts are known as well; only the answer is missing.
        case settled
    }

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

    /// Whether the outcome is unknown, so that the save has to be retried before the next save.
    var isUnknown: Bool {
        switch stage {
        case .unknown, .merged(isUnknown: true): true
        case .sent, .merged, .settled: false
        }
    }

    /// Whether the transaction was merged.
    var isMerged: Bool {
        switch stage {
        case .merged, .settled: true
        case .sent, .unknown: false
        }
    }

    /// Whether the transaction was merged and the outcomes of the inserts are known.
    var isSettled: Bool { if case .settled = stage { true } else { false } }

    /// Marks the outcome as unknown; a retry includes the last known position when the save was
    /// first sent.
    func markUnknown() {
        assert(!isSettled, "The outcome of a settled save is known.")
        stage = isMerged ? .merged(isUnknown: true) : .unknown
        request.firstSentAt = sentAt
    }

    /// Marks the save as sent again, after a refusal that shows that it was not applied.
    func markSentAgain() {
        guard !isSettled else { return }
        stage = isMerged ? .merged(isUnknown: false) : .sent
    }

    /// Marks the transaction as merged.
    func markMerged() {
        assert(!isMerged, "A transaction is merged once.")
        stage = .merged(isUnknown: isUnknown)
    }

    /// Marks the outcomes of the inserts as known.
    func markSettled() {
        assert(isMerged, "The outcomes come from the merged transaction or with the answer.")
        stage = .settled
    }

    /// Replaces the records with records of a different model or entity.
    func replaceRecords(_ replacement: (ObjectRecord) -> ObjectRecord) {
        records = records.map(replacement)
    }

    /// Returns whether a transaction was written by this save.
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
