import TandemModel
import TandemWire

/// Requests of clients about consumers.
struct ConsumerRequests {
    let committer: Committer
    let admission: Admission
    let journalMaintenance: JournalMaintenance

    /// Carries out a request about a consumer; called between batches.
    ///
    /// Registering and resetting require the role writer. Using another user's consumer requires
    /// admin. Registering and acknowledging require that no other session holds the name; they
    /// make the session its holder.
    func answer(
        _ request: ConsumerRequest, _ session: Session
    ) throws -> ConsumerAnswer {
        let known = try committer.consumer(named: request.name)
        if let known, known.owner != session.peer.uid {
            try admission.authorize(
                .admin, of: session,
                to: "use the consumer \(known.name) of uid \(known.owner)")
        }
        switch request.action {
        case .register(let position):
            try admission.authorize(.writer, of: session, to: "register a consumer")
            try journalMaintenance.holders.check(request.name, for: session)
            let start = try position.map(number) ?? committer.position
            let consumer = try committer.register(
                request.name, at: start, owner: session.peer.uid)
            journalMaintenance.holders.hold(request.name, by: session)
            return ConsumerAnswer(acknowledged: consumer.acknowledged)
        case .acknowledge(let position):
            try journalMaintenance.holders.check(request.name, for: session)
            let consumer = try committer.acknowledge(request.name, try number(position))
            journalMaintenance.holders.hold(request.name, by: session)
            return ConsumerAnswer(acknowledged: consumer.acknowledged)
        case .reset(let position):
            try admission.authorize(.writer, of: session, to: "reset a consumer")
            let start = try position.map(number) ?? committer.position
            let consumer = try committer.reset(request.name, to: start)
            journalMaintenance.scheduleRetention()
            return ConsumerAnswer(acknowledged: consumer.acknowledged)
        case .remove:
            let removed = try committer.removeConsumer(request.name)
            journalMaintenance.holders.release(request.name)
            // Without saves there may be no checkpoint soon, and the removed consumer may have kept
            // the disk full.
            if removed != nil { journalMaintenance.scheduleRetention() }
            return ConsumerAnswer(acknowledged: removed?.acknowledged)
        }
    }

    private func number(_ other: Position) throws(TandemError) -> UInt64 {
        guard committer.logPosition.isComparable(with: other) else {
            throw TandemError.foreign(
                other, remedy: "start again from a snapshot and register")
        }
        return other.number
    }
}
