import TandemIO
import TandemModel
import TandemWire

/// Who may connect, and what a client's role lets it do.
extension Engine {
    /// Why a peer is not taken in; nil when it is.
    func refusal(of peer: PeerCredentials, _ role: Role) -> (error: TandemError, why: Refusal)? {
        if role == .none {
            let error = TandemError(
                .denied,
                "uid \(peer.uid) has no role here; an administrator names it, one of its groups, "
                    + "or others under roles in the daemon's configuration")
            return (error, .role)
        }
        if sessions.count >= limits.connections {
            let text = "there are too many connections"
            return (limitCounts.refusal(.connections, limits, text), .connections)
        }
        let ofUser = sessions.values.count { $0.peer.uid == peer.uid }
        guard ofUser >= limits.connectionsPerUser else { return nil }
        let text = "uid \(peer.uid) has too many connections"
        return (limitCounts.refusal(.connectionsPerUser, limits, text), .userConnections)
    }

    /// Says why on a socket that is not taken in, and closes it.
    func turnAway(
        _ socket: any Connection, _ peer: PeerCredentials, _ unit: String, _ error: TandemError,
        _ refusal: Refusal
    ) {
        metrics.note(refusal)
        logThrottled(
            .connectionRefused,
            [
                "reason": refusal.rawValue, "pid": peer.pid, "uid": peer.uid, "gid": peer.gid,
                "unit": unit,
            ], error.message)
        var bytes: [UInt8] = []
        // A sentence always fits a frame.
        try? FrameEncoder.encode(DaemonMessage.failure(error), into: &bytes)
        _ = bytes.withUnsafeBytes { try? socket.write($0) }
        socket.shutdown()
    }

    /// Checks that the role of a session is at least another; what is refused is logged and counted.
    func demand(_ role: Role, of session: Session, to action: String) throws(TandemError) {
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
            "to \(action) takes the role \(role); uid \(peer.uid) is \(session.role). An "
                + "administrator gives roles in the daemon's configuration")
    }

    /// Ends the connection of another client; false when there is none of that number.
    func disconnect(client id: UInt64, for session: Session) throws(TandemError) -> Bool {
        try demand(.admin, of: session, to: "disconnect a client")
        guard let other = sessions[id], other !== session else { return false }
        let error = TandemError(.disconnected, "an administrator ended this connection")
        end(other, error, .administrator)
        return true
    }
}
