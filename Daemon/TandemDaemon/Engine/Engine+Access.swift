import TandemIO
import TandemModel
import TandemWire

/// Admission of connections, and checks of clients' roles.
extension Engine {
    /// Returns the reason for rejecting a peer, or nil if it is accepted.
    func refusal(of peer: PeerCredentials, _ role: Role) -> (error: TandemError, why: Refusal)? {
        if role == .none {
            let error = TandemError(
                .denied,
                "uid \(peer.uid) has no role; an administrator assigns roles in the daemon's "
                    + "configuration")
            return (error, .role)
        }
        if sessions.count >= limits.connections {
            let text = "there are too many connections"
            return (limitCounters.refusal(.connections, limits, text), .connections)
        }
        let ofUser = sessions.values.count { $0.peer.uid == peer.uid }
        guard ofUser >= limits.connectionsPerUser else { return nil }
        let text = "uid \(peer.uid) has too many connections"
        return (limitCounters.refusal(.connectionsPerUser, limits, text), .userConnections)
    }

    /// Sends the reason on a rejected socket, and closes it.
    func reject(
        _ socket: any ClientChannel, _ peer: PeerCredentials, _ unit: String, _ error: TandemError,
        _ refusal: Refusal
    ) {
        metrics.record(refusal)
        logThrottled(
            .connectionRefused,
            [
                "reason": refusal.rawValue, "pid": peer.pid, "uid": peer.uid, "gid": peer.gid,
                "unit": unit,
            ], error.message)
        var bytes: [UInt8] = []
        // One sentence always fits into a frame.
        try? FrameEncoder.encode(DaemonMessage.failure(error), into: &bytes)
        _ = bytes.withUnsafeBytes { try? socket.write($0) }
        socket.shutdown()
    }

    /// Checks that a session has at least the given role; otherwise logs, counts and throws
    /// `denied`.
    func authorize(_ role: Role, of session: Session, to action: String) throws(TandemError) {
        guard session.role < role else { return }
        metrics.deniedRequests += 1
        let peer = session.peer
        logThrottled(
            .denied,
            [
                "client": session.id, "pid": peer.pid, "uid": peer.uid, "gid": peer.gid,
                "author": session.author, "unit": session.unit, "role": session.role.rawValue,
            ], "may not \(action)")
        throw TandemError(
            .denied,
            "uid \(peer.uid) has the role \(session.role), but needs the role \(role) to \(action); "
                + "an administrator assigns roles in the daemon's configuration")
    }

    /// Ends the connection of another client; returns false if there is none with the id.
    func disconnect(client id: UInt64, for session: Session) throws(TandemError) -> Bool {
        try authorize(.admin, of: session, to: "disconnect a client")
        guard let other = sessions[id], other !== session else { return false }
        let error = TandemError(.disconnected, "an administrator ended this connection")
        end(other, error, .administrator)
        return true
    }
}
