import TandemIO
import TandemModel
import TandemWire

/// The saves of the batch being built, from their plans to their answers.
///
/// State:
/// - `planned`, `refusals`: the planned and the rejected saves, which are answered after the flush.
/// - `savers`: the sessions of these saves, which are served before all others.
final class SaveBatch {
    private let committer: Committer
    private let admission: Admission
    private let reporter: ClientReporter
    private var planned: [PlannedSave] = []
    private var refusals: [(session: Session, id: UInt32, error: TandemError)] = []
    private(set) var savers: [Session] = []

    init(_ committer: Committer, admission: Admission, reporter: ClientReporter) {
        (self.committer, self.admission, self.reporter) = (committer, admission, reporter)
    }

    /// Whether no save was planned or rejected since the last flush.
    var isEmpty: Bool { savers.isEmpty }

    /// Plans a save of a session, or records its rejection.
    func plan(
        _ request: SaveRequest, _ id: UInt32, _ session: Session, since arrival: UInt64
    ) throws {
        savers.append(session)
        do {
            guard request.saveID.count <= 64 else {
                throw TandemError(.usage, "a save id must have at most 64 bytes")
            }
            if !request.onlyAsks {
                try admission.authorize(.writer, of: session, to: "save")
            }
            let principal = try session.client.principal(
                author: request.author, context: request.context)
            switch try committer.begin(request, by: principal) {
            case .planned(let saved), .answered(let saved):
                planned.append(
                    PlannedSave(session: session, id: id, saved: saved, arrival: arrival))
            }
        } catch let error as TandemError {
            refusals.append((session, id, error))
            session.input.awaitRefusal()
        }
        assert(savers.count == planned.count + refusals.count, "Each save is planned or rejected.")
    }

    /// Rejects all saves of a batch that could not be flushed; none of them took effect.
    ///
    /// This includes the rejected saves, because their reason may have been a save that did not
    /// take effect.
    func rejectAll(because error: TandemError) {
        refusals =
            planned.map { ($0.session, $0.id, error) }
            + refusals.map { ($0.session, $0.id, error) }
        planned.removeAll(keepingCapacity: true)
    }

    /// Answers the planned saves after a flush.
    ///
    /// `checkpointError` is the error with which saves without changes are rejected, because their
    /// answers could not be recorded; such a save had no effect.
    func answerPlanned(checkpointError: TandemError?) {
        if let checkpointError { reject(checkpointError) }
        for save in planned where !save.session.isClosing {
            assert(save.saved.position <= committer.position, "Only durable saves are answered.")
            save.session.answer(
                .saved(save.saved), to: save.id, heldUntil: save.saved.position)
        }
    }

    /// Rejects the saves whose answers could not be recorded.
    private func reject(_ error: TandemError) {
        for save in planned where save.needsCheckpoint && !save.session.isClosing {
            reporter.refused(save.session, error)
            save.session.answer(.failure(error), to: save.id)
        }
        planned.removeAll(where: \.needsCheckpoint)
    }

    /// Answers the rejected saves.
    func answerRefused() {
        for (session, id, error) in refusals where !session.isClosing {
            session.input.didRefuse()
            reporter.refused(session, error)
            session.answer(.failure(error), to: id)
        }
        refusals.removeAll(keepingCapacity: true)
    }

    /// Records the answers that were just written, and begins the next batch.
    func end() {
        assert(refusals.isEmpty, "The rejected saves of a batch are answered before its end.")
        reporter.answered(planned)
        planned.removeAll(keepingCapacity: true)
        savers.removeAll(keepingCapacity: true)
    }
}
