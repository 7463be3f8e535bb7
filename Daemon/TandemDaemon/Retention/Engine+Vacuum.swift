import TandemJournal
import TandemModel
import TandemStore
import TandemWire

/// Giving up journal because somebody asks for it.
extension Engine {
    /// Gives up what is asked for, as far as nobody needs it or it is forced; done between batches.
    ///
    /// Takes the role admin, but for a dry run. As nobody may save for long, a request gives up a bounded number of segments
    /// and is repeated. Without room for a checkpoint it goes as far as the last one: it may be what makes room.
    func answer(_ request: VacuumRequest, _ session: Session) throws -> Vacuumed {
        if !request.isDryRun {
            try demand(.admin, of: session, to: "vacuum the journal")
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
        let plan = retention.plan(Vacuum(request), state, journal, limit: limit)
        if !request.isDryRun, plan.goes.segments > 0 { try trim(plan.goes) }
        return Vacuumed(plan, of: state.segments, holders)
    }

    private func trim(_ plan: RetentionPlan) throws {
        let first = committer.journal.bounds.first
        do throws(JournalError) {
            try committer.journal.trim(below: plan.trimBelow)
        } catch {
            guard error.code == .unreadable else { throw error }
            throw TandemError(.storage, "\(error)")
        }
        note(plan, try committer.consumers.all(), from: first)
    }

    /// Everybody who may need something of the journal.
    private func holders(_ consumers: [Consumer]) -> [Vacuumed.Holder] {
        let sessions = sessions.values.filter(\.isReady).sorted { $0.id < $1.id }
        // Asking ends those whose time is up.
        _ = pinned
        return consumers.map {
            Vacuumed.Holder(kind: .consumer, name: $0.name, position: $0.acknowledged)
        }
            + sessions.map {
                Vacuumed.Holder(kind: .client, name: $0.nameForPeople, position: $0.needed)
            }
            + sessions.flatMap { session in
                session.pins.values.map(\.position).sorted().map {
                    Vacuumed.Holder(kind: .pin, name: session.nameForPeople, position: $0)
                }
            }
    }
}

extension Session {
    /// What people know a client by.
    fileprivate var nameForPeople: String { "\(id) (\(author), pid \(peer.pid))" }
}

extension Vacuum {
    /// The bounds of a request.
    init(_ request: VacuumRequest) {
        self.init(
            keepBytes: request.keepBytes, keepSeconds: request.keepSeconds,
            before: request.before, isForced: request.isForced)
    }
}

extension Vacuumed {
    /// What a plan comes to, with those who need something of it.
    init(_ plan: VacuumPlan, of segments: [JournalSegment], _ holders: [Holder]) {
        let bytes = segments.reduce(0) { $0 + $1.bytes }
        self.init(
            first: segments.first?.first ?? 1, trimBelow: plan.goes.trimBelow,
            segments: UInt32(clamping: plan.goes.segments),
            bytes: plan.goes.bytes,
            keptSegments: UInt32(clamping: segments.count - plan.goes.segments),
            keptBytes: bytes - plan.goes.bytes, isMore: plan.isMore,
            holders: zip(holders, plan.held).compactMap { holder, held in
                guard held > 0 else { return nil }
                var holder = holder
                holder.bytes = held
                return holder
            })
    }
}
