import TandemIO
import TandemWire

/// The pushes that take a session to the journal's end, put together once for all who stand at the same place.
///
/// When one change goes to many, the first of them has it made, and for each of the others it is one write of the same bytes.
struct PushRun {
    /// What two sessions have in common that are to get the same bytes.
    struct Place: Hashable {
        /// Names the audience.
        let audience: UInt64
        /// Everything up to here was considered for the session.
        let behind: UInt64
        /// The last position that it was told.
        let cursor: UInt64
    }

    /// For whom it is.
    let place: Place
    /// Everything up to here is considered.
    let end: UInt64
    /// The last position that it tells.
    private(set) var cursor: UInt64
    /// How many transactions are pushed.
    private(set) var pushes: UInt64 = 0
    /// The frames of all of them.
    private(set) var bytes: [UInt8] = []
    /// Whether that is all that there is up to the end; if not, each session gets its own, by reference and in turns.
    let isWhole: Bool

    /// Puts together what follows a place, from the bodies by position; nil is of no interest.
    init(
        from place: Place, to end: UInt64, atMost limit: Int, _ body: (UInt64) throws -> PushBody?
    ) rethrows {
        (self.place, self.end, cursor) = (place, end, place.cursor)
        for position in (place.behind + 1)..<(end + 1) {
            guard let body = try body(position), position > cursor else { continue }
            guard bytes.count + PushBody.headBytes + body.bytes.count <= limit else {
                isWhole = false
                bytes = []
                return
            }
            body.appendHead(previous: cursor, to: &bytes)
            bytes += body.bytes
            cursor = position
            pushes += 1
        }
        isWhole = true
    }
}

extension Session {
    /// Whether nothing of it waits on either side, so that a push is all that there is to be done.
    var isAtRest: Bool {
        isReady && !isClosing && !isWaitingToWrite && !owesProgress && outboundBytes == 0
            && inbox.isEmpty && held.isEmpty && syncs.isEmpty && read == nil
    }

    /// What it has in common with others who are to get the same; nil at the journal's end.
    var place: PushRun.Place? {
        behind.map { PushRun.Place(audience: audienceNumber, behind: $0, cursor: machine.cursor) }
    }
}

extension Engine {
    /// Serves a session that waits for nothing but what many others wait for too; false if it has to be served by itself.
    func serveAlike(_ session: Session) throws -> Bool {
        guard session.isAtRest, session.toldAbility == told.changes,
            let run = try run(for: session)
        else { return false }
        let taken: Int
        switch session.offer(run) {
        case .bytes(let count): taken = count
        case .wouldBlock: taken = 0
        case .closed:
            disconnect(session, because: nil)
            return true
        }
        sliceBytes += taken
        guard taken == run.bytes.count else {
            try goOn(session, behind: taken)
            return true
        }
        session.took(run)
        audiences.reachedEnd(session)
        rewatch(session)
        return true
    }

    /// What the socket did not take waits like everything else: by reference.
    private func goOn(_ session: Session, behind taken: Int) throws {
        try queuePushes(session)
        session.drop(taken)
        finish(session)
        schedule(session)
    }

    /// The run that takes a session to the journal's end; nil if there is none, or nobody to share it with.
    private func run(for session: Session) throws -> PushRun? {
        guard let place = session.place else { return nil }
        let end = committer.position
        if let run, run.place == place, run.end == end { return run.isWhole ? run : nil }
        guard let audience = session.audience, audience.count > 1, place.behind < end,
            end - place.behind <= DaemonLimits.turnTransactions,
            let first = committer.ring.first, place.behind + 1 >= first
        else { return nil }
        let limit = min(DaemonLimits.runBytes, limits.outboundBytes)
        let made = try PushRun(from: place, to: end, atMost: limit) {
            try body(at: $0, for: session)
        }
        run = made
        return made.isWhole ? made : nil
    }
}
