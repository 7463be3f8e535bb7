import TandemIO
import TandemJournal
import TandemModel
import TandemStore
import TandemWire

/// Removal of segments on request.
extension JournalMaintenance {
    /// Removes the requested segments; segments that a reader still needs are kept unless the
    /// request forces their removal.
    ///
    /// Called between batches. Requires the role admin, except for a dry run. One request removes a
    /// bounded number of segments. The client repeats it, because without saves no checkpoint would
    /// continue the removal. Without room for a checkpoint, segments up to the last checkpoint are
    /// removed, which may make room.
    func answer(_ request: VacuumRequest, _ session: Session) throws -> VacuumAnswer {
        if !request.isDryRun {
            try admission.authorize(.admin, of: session, to: "vacuum the journal")
            try committer.checkpoint()
        }
        let (store, journal) = (committer.store, committer.journal)
        let holders = holders(
            try request.isDryRun ? committer.consumers.all() : store.consumers())
        let state = RetentionState(
            segments: journal.segments,
            checkpoint: request.isDryRun ? committer.position : store.checkpointPosition,
            floors: holders.map(\.position), now: clock.wallMicroseconds)
        let limit = request.isDryRun ? Int.max : DaemonLimits.trimmedSegments
        let plan = plan(Vacuum(request), state, limit: limit)
        if !request.isDryRun, plan.removal.segments > 0 { try trim(plan.removal) }
        return VacuumAnswer(plan, of: state.segments, holders)
    }

    private func trim(_ plan: RetentionPlan) throws {
        let first = committer.journal.bounds.first
        do throws(JournalError) {
            try committer.journal.trim(below: plan.trimBelow)
        } catch {
            guard error.code == .unreadable else { throw error }
            throw TandemError(.storage, "\(error)")
        }
        recordRemoval(plan, try committer.consumers.all(), from: first)
    }

    /// Returns the consumers, clients and pins that may need a part of the journal.
    private func holders(_ consumers: [Consumer]) -> [VacuumAnswer.RetentionHolder] {
        let sessions = admission.ordered.filter(\.isReady)
        // Reading `pinned` ends expired pins.
        _ = pinned
        return consumers.map {
            VacuumAnswer.RetentionHolder(kind: .consumer, name: $0.name, position: $0.acknowledged)
        }
            + sessions.map {
                VacuumAnswer.RetentionHolder(
                    kind: .client, name: $0.nameForPeople, position: $0.needed)
            }
            + sessions.flatMap { session in
                session.pins.positions.sorted().map {
                    VacuumAnswer.RetentionHolder(
                        kind: .pin, name: session.nameForPeople, position: $0)
                }
            }
    }
}

extension Session {
    /// The name of a client in messages.
    fileprivate var nameForPeople: String { "\(id) (\(client.author), pid \(peer.pid))" }
}

extension Vacuum {
    /// Creates the bounds of a removal from a request.
    init(_ request: VacuumRequest) {
        self.init(
            keepBytes: request.keepBytes, keepSeconds: request.keepSeconds,
            before: request.before, isForced: request.isForced)
    }
}

extension VacuumAnswer {
    /// Creates the answer for a plan, with the holders of segments.
    init(_ plan: VacuumPlan, of segments: [JournalSegment], _ holders: [RetentionHolder]) {
        let bytes = segments.reduce(0) { $0 + $1.bytes }
        self.init(
            first: segments.first?.first ?? 1, trimBelow: plan.removal.trimBelow,
            segments: UInt32(clamping: plan.removal.segments),
            bytes: plan.removal.bytes,
            keptSegments: UInt32(clamping: segments.count - plan.removal.segments),
            keptBytes: bytes - plan.removal.bytes, isMore: plan.isMore,
            holders: zip(holders, plan.held).compactMap { holder, held in
                guard held > 0 else { return nil }
                var holder = holder
                holder.bytes = held
                return holder
            })
    }
}
