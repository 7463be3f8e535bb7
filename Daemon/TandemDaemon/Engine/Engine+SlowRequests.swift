import TandemModel
import TandemWire

extension Engine {
    /// Records that a request was just answered, given its arrival time.
    func recordAnswered(_ message: ClientMessage, _ session: Session, since start: UInt64) {
        if message.isQuestion { markQuestionAnswered() }
        let end = clock.monotonicNanoseconds
        guard SlowRequests.isSlow(from: start, to: end) else { return }
        recordAnswered(message.title, message.entity, session, from: start, to: end)
    }

    /// Records that a request was answered.
    func recordAnswered(
        _ kind: String, _ entity: String, _ session: Session, from start: UInt64,
        to end: UInt64
    ) {
        metrics.slow.record(
            SlowRequests.Request(
                kind: kind, entity: entity, client: session.id, author: session.author,
                pid: session.peer.pid, start: start, end: end))
        logSlow(kind, entity, session, nanoseconds: end - min(start, end))
    }

    /// Logs a warning for a slow request, except for a save, which may only have waited for others.
    private func logSlow(
        _ kind: String, _ entity: String, _ session: Session, nanoseconds: UInt64
    ) {
        guard nanoseconds >= DaemonLimits.slowNanoseconds, kind != "save" else { return }
        let peer = session.peer
        logThrottled(
            .slow,
            [
                "cause": kind, "entity": entity, "client": session.id, "pid": peer.pid,
                "uid": peer.uid, "author": session.author, "unit": session.unit,
                "duration_us": nanoseconds / 1_000,
            ], nil)
    }
}
