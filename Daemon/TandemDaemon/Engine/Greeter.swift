import TandemModel
import TandemStore
import TandemWire

/// The answer to a valid hello: the position at which a session begins, its interests and a lease.
struct Greeter {
    let committer: Committer
    let pushes: PushDispatcher
    let announcement: ReadOnlyAnnouncement

    /// Begins a session, and queues its welcome.
    func welcome(_ hello: Hello, _ id: UInt32, _ session: Session) throws {
        let position = committer.logPosition
        let last = position.number
        let limits = committer.limits.session
        let lease = try firstLease(of: session, hello.numbers)
        let resume = hello.resume.flatMap { canResume($0) ? $0.number : nil }
        let model = committer.store.model
        session.begin(after: resume.flatMap { $0 < last ? $0 : nil })
        let tags = hello.interests.compactMap { model?.entity(named: $0)?.tag }
        pushes.move(session, to: Set(tags))
        let welcome = Welcome(
            log: position.log, epoch: position.epoch, position: last,
            resumed: resume != nil, model: committer.store.modelBytes, lease: lease,
            saveIDFloor: committer.store.saveFloor, isReadOnly: announcement.state.isReadOnly,
            server: "tandemd", limits: limits)
        session.input.bound(frameBytes: limits.frameBytes, messageBytes: limits.messageBytes)
        session.answer(.welcome(welcome), to: id)
        session.didWelcome()
        announcement.recordWelcome(of: session)
    }

    /// Returns the first lease of a session.
    ///
    /// The lease is empty for a client that may not save, or if the store has no room to record it.
    private func firstLease(of session: Session, _ wanted: UInt32?) throws -> Lease {
        let none = Lease(first: 0, count: 0, epoch: committer.logPosition.epoch)
        let most = UInt32(committer.limits.leaseNumbers)
        let count = min(wanted ?? most, most)
        guard session.client.role >= .writer, count > 0 else { return none }
        do {
            return try committer.lease(count)
        } catch let error as TandemError where error.code == .readOnly {
            return none
        }
    }

    /// Whether the journal still has all transactions after a position, all under the current
    /// model.
    private func canResume(_ resume: Position) -> Bool {
        let position = committer.logPosition
        return position.isComparable(with: resume) && resume.number <= position.number
            && resume.number + 1 >= committer.journal.bounds.first
            && resume.number >= committer.store.modelPosition
    }
}
