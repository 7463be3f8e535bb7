import TandemIO
import TandemModel
import TandemWire

/// The connected clients, their admission, and their roles.
///
/// State:
/// - `sessions`: the sessions of all connections that have not ended, by id.
/// - `greeting`: the sessions whose hello has not arrived.
/// - `unfinished`: the received bytes of incomplete messages.
final class Admission {
    private let committer: Committer
    private let clock: any Clock
    private let reporter: ClientReporter
    /// The rules that assign roles to users.
    private var roles: RolePolicy
    private(set) var sessions: [UInt64: Session] = [:]
    private var nextSession: UInt64 = 1
    private var greeting: Set<UInt64> = []
    private(set) var unfinished = UnfinishedMessages()

    init(
        _ committer: Committer, roles: RolePolicy, clock: any Clock, reporter: ClientReporter
    ) {
        (self.committer, self.roles) = (committer, roles)
        (self.clock, self.reporter) = (clock, reporter)
    }

    private var limits: DaemonLimits { committer.limits }
    private var limitCounters: LimitCounters { committer.limitCounters }

    /// The sessions by age, the oldest first.
    var ordered: [Session] { sessions.values.sorted { $0.id < $1.id } }

    // MARK: Connections

    /// Accepts a connection of a peer, or rejects it with a reason and returns nil.
    func admit(_ socket: any ClientChannel, of peer: PeerCredentials, unit: String) -> Session? {
        let role = role(of: peer)
        if let ending = refusal(of: peer, role) {
            reject(socket, peer, unit, ending)
            return nil
        }
        let client = ClientIdentity(
            id: nextSession, peer: peer, unit: unit, role: role, now: clock.monotonicNanoseconds)
        let session = Session(of: client, on: socket, committer: committer)
        nextSession += 1
        assert(sessions[session.id] == nil, "No two sessions have the same id.")
        sessions[session.id] = session
        greeting.insert(session.id)
        reporter.countConnection()
        return session
    }

    /// Removes a session; returns false if it has already been removed.
    func remove(_ session: Session) -> Bool {
        guard sessions.removeValue(forKey: session.id) != nil else { return false }
        session.close()
        stopCounting(session)
        return true
    }

    /// Returns the reason for rejecting a peer, or nil if it is accepted.
    private func refusal(of peer: PeerCredentials, _ role: Role) -> Ending? {
        if role == .none {
            let error = TandemError(
                .denied,
                "uid \(peer.uid) has no role; an administrator assigns roles in the daemon's "
                    + "configuration")
            return Ending(error, .role)
        }
        if sessions.count >= limits.connections {
            let text = "there are too many connections"
            return Ending(limitCounters.refusal(.connections, limits, text), .connections)
        }
        let ofUser = sessions.values.count { $0.peer.uid == peer.uid }
        guard ofUser >= limits.connectionsPerUser else { return nil }
        let text = "uid \(peer.uid) has too many connections"
        return Ending(
            limitCounters.refusal(.connectionsPerUser, limits, text), .userConnections)
    }

    /// Sends the reason on a rejected socket, and closes it.
    private func reject(
        _ socket: any ClientChannel, _ peer: PeerCredentials, _ unit: String, _ ending: Ending
    ) {
        reporter.refused(ending.refusal, ending.error.message, peer, unit)
        var bytes: [UInt8] = []
        // One sentence always fits into a frame.
        try? FrameEncoder.encode(DaemonMessage.failure(ending.error), into: &bytes)
        _ = bytes.withUnsafeBytes { try? socket.write($0) }
        socket.shutdown()
    }

    // MARK: Roles

    /// Returns the role of a peer by the current rules.
    private func role(of peer: PeerCredentials) -> Role {
        roles.role(of: peer, daemon: ThisProcess.effectiveUserID)
    }

    /// Applies new rules to all sessions; returns the sessions that no longer have a role.
    func adopt(_ roles: RolePolicy) -> [Session] {
        self.roles = roles
        return ordered.filter { session in
            session.assign(role(of: session.peer))
            return session.client.role == .none
        }
    }

    /// Checks that a session has at least the given role; otherwise logs, counts and throws
    /// `denied`.
    func authorize(_ role: Role, of session: Session, to action: String) throws(TandemError) {
        guard session.client.role < role else { return }
        reporter.denied(session, action)
        throw TandemError(
            .denied,
            "uid \(session.peer.uid) has the role \(session.client.role), but needs the role "
                + "\(role) to \(action); an administrator assigns roles in the daemon's "
                + "configuration")
    }

    // MARK: Incomplete messages

    /// Whether any connection has not sent its hello or the rest of a message yet.
    var hasHandshakes: Bool { !greeting.isEmpty || unfinished.bytes > 0 }

    /// Returns the connections whose hello did not arrive in time, with the errors that end them.
    func lateHandshakes() -> [(session: Session, ending: Ending)] {
        let limit = UInt64(limits.handshakeMilliseconds) * 1_000_000
        let now = clock.monotonicNanoseconds
        var late: [(Session, Ending)] = []
        for id in greeting {
            guard let session = sessions[id], !session.isReady else {
                greeting.remove(id)
                continue
            }
            guard now > session.client.connectedAt + limit,
                session.helloTimedOut() == .close
            else { continue }
            let error = limitCounters.refusal(
                .handshakeMilliseconds, limits, "no hello arrived in time", code: .timeout)
            late.append((session, Ending(error, .handshake)))
        }
        return late
    }

    /// Returns the connections that did not send the rest of a message in time, with the errors
    /// that end them.
    func lateMessages() -> [(session: Session, ending: Ending)] {
        guard unfinished.bytes > 0 else { return [] }
        let limit = UInt64(limits.messageMilliseconds) * 1_000_000
        let now = clock.monotonicNanoseconds
        return ordered.compactMap { session in
            // A client isn't at fault for bytes that wait in its socket until its saves are
            // answered.
            guard let since = session.input.unfinishedSince, session.isReady, now > since + limit,
                session.waitingSaves == 0, session.wants.contains(.read)
            else { return nil }
            let error = limitCounters.refusal(
                .messageMilliseconds, limits, "the rest of a message did not arrive in time",
                code: .timeout)
            return (session, Ending(error, .unfinished))
        }
    }

    /// Counts the bytes of a connection's incomplete message; returns the error that ends the
    /// connection if a limit is exceeded.
    func countUnfinished(_ session: Session) -> Ending? {
        let before = session.input.countUnfinished()
        unfinished.replace(before, by: session.input.unfinishedBytes, of: session.peer.uid)
        guard let (limit, text) = unfinishedExcess(session) else { return nil }
        return Ending(limitCounters.refusal(limit, limits, text), .unfinished)
    }

    private func unfinishedExcess(_ session: Session) -> (Limit, String)? {
        guard session.input.unfinishedBytes > 0 else { return nil }
        let ofUser = unfinished.bytes(of: session.peer.uid)
        if ofUser > limits.unfinishedBytesPerUser {
            return (
                .unfinishedBytesPerUser,
                "incomplete messages of uid \(session.peer.uid) hold \(ofUser) bytes; "
                    + "connect again and send one message at a time"
            )
        }
        guard unfinished.bytes > limits.unfinishedBytes else { return nil }
        return (
            .unfinishedBytes,
            "incomplete messages hold \(unfinished.bytes) bytes; connect again later"
        )
    }

    /// Stops counting a connection's incomplete message.
    private func stopCounting(_ session: Session) {
        unfinished.replace(session.input.stopCounting(), by: 0, of: session.peer.uid)
    }
}
