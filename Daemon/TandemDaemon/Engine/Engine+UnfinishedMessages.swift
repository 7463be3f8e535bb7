import TandemModel
import TandemWire

extension Engine {
    /// Counts the bytes of a connection's incomplete message.
    ///
    /// If a limit is exceeded, ends the connection and returns false.
    func countUnfinished(_ session: Session) -> Bool {
        let bytes = session.decoder.bufferedBytes
        unfinished.replace(session.unfinishedBytes, by: bytes, of: session.peer.uid)
        session.unfinishedBytes = bytes
        guard let (limit, text) = unfinishedExcess(session) else { return true }
        end(session, limitCounters.refusal(limit, limits, text), .unfinished)
        return false
    }

    private func unfinishedExcess(_ session: Session) -> (Limit, String)? {
        guard session.unfinishedBytes > 0 else { return nil }
        let ofUser = unfinished.bytes(of: session.peer.uid)
        if ofUser > limits.unfinishedBytesPerUser {
            return (
                .unfinishedBytesPerUser,
                "incomplete messages of uid \(session.peer.uid) hold \(ofUser) bytes; "
                    + "connect again and send one after the other"
            )
        }
        guard unfinished.bytes > limits.unfinishedBytes else { return nil }
        return (
            .unfinishedBytes,
            "incomplete messages hold \(unfinished.bytes) bytes; connect again later"
        )
    }

    /// Stops counting a connection's incomplete message.
    func forgetUnfinished(_ session: Session) {
        unfinished.replace(session.unfinishedBytes, by: 0, of: session.peer.uid)
        session.unfinishedBytes = 0
        session.unfinishedSince = nil
    }

    /// Closes connections that did not send the rest of a message in time.
    func expireUnfinished() {
        guard unfinished.bytes > 0 else { return }
        let limit = UInt64(limits.messageMilliseconds) * 1_000_000
        let now = clock.monotonicNanoseconds
        for session in sessions.values.sorted(by: { $0.id < $1.id }) {
            // A client isn't at fault for bytes that wait in its socket until its saves are
            // answered.
            guard let since = session.unfinishedSince, session.isReady, now > since + limit,
                session.waitingSaves == 0, session.wants.contains(.read)
            else { continue }
            let error = limitCounters.refusal(
                .messageMilliseconds, limits, "the rest of a message did not arrive in time",
                code: .timeout)
            end(session, error, .unfinished)
        }
    }

    /// Rejects a message of several frames at its first frame if the session's role does not allow
    /// it.
    func authorizeUnfinished(_ session: Session) {
        guard session.isReady, let (type, id) = session.decoder.unfinished,
            let action = ClientMessage.Kind(rawValue: type)?.writersAction
        else { return }
        do throws(TandemError) {
            try authorize(.writer, of: session, to: action)
        } catch {
            session.decoder.skipMessage()
            session.countRequest()
            guard case .run = session.machine.received(request: id) else { return }
            session.answer(.failure(error), to: id)
        }
    }
}

extension ClientMessage.Kind {
    /// The action of a message that requires the role writer.
    ///
    /// It is nil for other messages, and for those that always fit one frame.
    fileprivate var writersAction: String? {
        switch self {
        case .save: "save"
        case .batch: "change objects by a batch"
        case .insert: "insert objects by a batch"
        default: nil
        }
    }
}
