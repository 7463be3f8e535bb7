import TandemModel
import TandemWire

/// The bytes of messages that did not arrive completely, of all connections and by user.
struct UnfinishedMessages {
    private(set) var bytes = 0
    private var bytesByUser: [UInt32: Int] = [:]

    /// The bytes of one user.
    func bytes(of user: UInt32) -> Int { bytesByUser[user] ?? 0 }

    /// Replaces what counts for a connection of a user.
    mutating func replace(_ old: Int, by new: Int, of user: UInt32) {
        guard old != new else { return }
        bytes += new - old
        let left = bytes(of: user) + new - old
        bytesByUser[user] = left > 0 ? left : nil
    }
}

extension Engine {
    /// Counts what a connection has sent of a message that is not complete; beyond a limit it ends the connection, and is false.
    func countUnfinished(_ session: Session) -> Bool {
        let bytes = session.decoder.bufferedBytes
        unfinished.replace(session.unfinishedBytes, by: bytes, of: session.peer.uid)
        session.unfinishedBytes = bytes
        guard let (limit, text) = unfinishedExcess(session) else { return true }
        end(session, limitCounts.refusal(limit, limits, text), .unfinished)
        return false
    }

    private func unfinishedExcess(_ session: Session) -> (Limit, String)? {
        guard session.unfinishedBytes > 0 else { return nil }
        let ofUser = unfinished.bytes(of: session.peer.uid)
        if ofUser > limits.unfinishedBytesPerUser {
            return (
                .unfinishedBytesPerUser,
                "unfinished messages of uid \(session.peer.uid) hold \(ofUser) bytes; "
                    + "connect again and send one after the other"
            )
        }
        guard unfinished.bytes > limits.unfinishedBytes else { return nil }
        return (
            .unfinishedBytes,
            "unfinished messages hold \(unfinished.bytes) bytes; connect again when others are done"
        )
    }

    /// Forgets what a connection has sent of a message.
    func forgetUnfinished(_ session: Session) {
        unfinished.replace(session.unfinishedBytes, by: 0, of: session.peer.uid)
        session.unfinishedBytes = 0
        session.unfinishedSince = nil
    }

    /// Closes connections that began a message and did not send the rest in time.
    func expireUnfinished() {
        guard unfinished.bytes > 0 else { return }
        let limit = UInt64(limits.messageMilliseconds) * 1_000_000
        let now = clock.monotonicNanoseconds
        for session in sessions.values.sorted(by: { $0.id < $1.id }) {
            // A client is not blamed for bytes that wait in its socket until its saves are answered.
            guard let since = session.unfinishedSince, session.isReady, now > since + limit,
                session.waitingSaves == 0, session.wants.contains(.read)
            else { continue }
            let error = limitCounts.refusal(
                .messageMilliseconds, limits, "the rest of a message did not come in time",
                code: .timeout)
            end(session, error, .unfinished)
        }
    }

    /// Refuses a message of several frames at its first one if the role of its session does not allow it.
    func demandRoleOfUnfinished(_ session: Session) {
        guard session.isReady, let (type, id) = session.decoder.unfinished,
            let action = ClientMessage.Kind(rawValue: type)?.writersAction
        else { return }
        do throws(TandemError) {
            try demand(.writer, of: session, to: action)
        } catch {
            session.decoder.skipMessage()
            session.noteRequest()
            guard case .run = session.machine.received(request: id) else { return }
            session.answer(.failure(error), to: id)
        }
    }
}

extension ClientMessage.Kind {
    /// What a message does that only writers may; nil for others, and for those that always fit a frame.
    fileprivate var writersAction: String? {
        switch self {
        case .save: "save"
        case .batch: "change objects by a batch"
        case .insert: "insert objects by a batch"
        default: nil
        }
    }
}
