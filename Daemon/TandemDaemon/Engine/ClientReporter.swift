import TandemIO
import TandemModel
import TandemWire

/// Counts and logs events of clients and their requests.
///
/// State:
/// - `metrics`: the counters since the start of the daemon.
/// - `throttles`: the throttles of log lines that clients cause.
final class ClientReporter {
    let log: DaemonLog
    private let clock: any Clock
    private(set) var metrics = EngineMetrics()
    private var throttles: [LogEvent: LogThrottle] = [:]
    /// Whether a read request was answered since the last ``consumeHasAnswered()``.
    private var hasAnswered = false

    init(log: DaemonLog, clock: any Clock) {
        (self.log, self.clock) = (log, clock)
    }

    // MARK: Connections

    /// Counts an accepted connection.
    func countConnection() { metrics.opened += 1 }

    /// Counts bytes received from a client.
    func countReceived(_ bytes: Int) { metrics.received += UInt64(bytes) }

    /// Counts and logs a connection that failed before its session was created.
    func refused(_ refusal: Refusal, _ reason: String) {
        metrics.record(refusal)
        logThrottled(.connectionRefused, ["reason": refusal.rawValue], reason)
    }

    /// Counts and logs a peer that was not accepted.
    func refused(_ refusal: Refusal, _ reason: String, _ peer: PeerCredentials, _ unit: String) {
        metrics.record(refusal)
        logThrottled(
            .connectionRefused,
            [
                "reason": refusal.rawValue, "pid": peer.pid, "uid": peer.uid, "gid": peer.gid,
                "unit": unit,
            ], reason)
    }

    /// Counts and logs the end of a connection; without a reason, this is a regular close.
    func disconnected(_ session: Session, because reason: String?, _ refusal: Refusal) {
        metrics.sentBefore += session.output.written
        guard let reason else { return logEvent(session, .connectionClosed) }
        metrics.record(refusal)
        logEvent(session, .connectionDropped, reason, refusal)
    }

    /// Logs an event of a session.
    func logEvent(
        _ session: Session, _ event: LogEvent, _ reason: String? = nil, _ refusal: Refusal? = nil
    ) {
        guard log.isOn(event.level) else { return }
        let peer = session.peer
        let seconds = (clock.monotonicNanoseconds - session.client.connectedAt) / 1_000_000_000
        logThrottled(
            event,
            [
                "reason": refusal?.rawValue ?? "-", "client": session.id, "pid": peer.pid,
                "uid": peer.uid, "gid": peer.gid, "author": session.client.author,
                "unit": session.client.unit, "position": session.sent, "connected_s": seconds,
            ], reason)
    }

    // MARK: Requests

    /// Counts and logs a request that the role of its client does not allow.
    func denied(_ session: Session, _ action: String) {
        metrics.deniedRequests += 1
        let peer = session.peer
        logThrottled(
            .denied,
            [
                "client": session.id, "pid": peer.pid, "uid": peer.uid, "gid": peer.gid,
                "author": session.client.author, "unit": session.client.unit,
                "role": session.client.role.rawValue,
            ], "may not \(action)")
    }

    /// Counts a cancelled request.
    func countCancelled() { metrics.cancelledRequests += 1 }

    /// Counts a cancel message whose request was already answered or can't be cancelled.
    func countLateCancel() { metrics.lateCancels += 1 }

    /// Counts and logs a refused save, without its values.
    func refused(_ session: Session, _ error: TandemError) {
        metrics.record(refusedSave: error.code)
        log(
            .saveRefused,
            [
                "code": error.code.rawValue, "client": session.id, "pid": session.peer.pid,
                "uid": session.peer.uid, "author": session.client.author,
                "unit": session.client.unit,
            ])
    }

    /// Counts and logs saves that were just answered.
    func answered(_ saves: [PlannedSave]) {
        guard !saves.isEmpty else { return }
        let now = clock.monotonicNanoseconds
        for save in saves {
            let duration = now - min(now, save.arrival)
            metrics.saves.record(nanoseconds: duration)
            recordAnswered("save", "", save.session, from: save.arrival, to: now)
            guard log.isOn(.debug) else { continue }
            let (session, peer) = (save.session, save.session.peer)
            log(
                .saved,
                [
                    "position": save.saved.position, "wrote": save.saved.wrote,
                    "client": session.id, "pid": peer.pid, "uid": peer.uid,
                    "author": session.client.author, "unit": session.client.unit,
                    "duration_us": duration / 1_000,
                ])
        }
    }

    /// Records that a request was just answered; `start` is its arrival time.
    func recordAnswered(_ message: ClientMessage, _ session: Session, since start: UInt64) {
        if message.isReadOnly { hasAnswered = true }
        let end = clock.monotonicNanoseconds
        guard SlowRequests.isSlow(from: start, to: end) else { return }
        recordAnswered(message.title, message.entity, session, from: start, to: end)
    }

    /// Records that a request was answered.
    private func recordAnswered(
        _ kind: String, _ entity: String, _ session: Session, from start: UInt64,
        to end: UInt64
    ) {
        metrics.slow.record(
            SlowRequests.Request(
                kind: kind, entity: entity, client: session.id, author: session.client.author,
                pid: session.peer.pid, start: start, end: end))
        logSlow(kind, entity, session, nanoseconds: end - min(start, end))
    }

    /// Logs a warning for a slow request, unless it is a save, which may have waited for other
    /// saves.
    private func logSlow(
        _ kind: String, _ entity: String, _ session: Session, nanoseconds: UInt64
    ) {
        guard nanoseconds >= DaemonLimits.slowNanoseconds, kind != "save" else { return }
        let peer = session.peer
        logThrottled(
            .slow,
            [
                "cause": kind, "entity": entity, "client": session.id, "pid": peer.pid,
                "uid": peer.uid, "author": session.client.author, "unit": session.client.unit,
                "duration_us": nanoseconds / 1_000,
            ], nil)
    }

    /// Returns whether a read request, whose client may send another one soon, was answered since
    /// the last call.
    func consumeHasAnswered() -> Bool {
        defer { hasAnswered = false }
        return hasAnswered
    }

    /// Records the time that a flush took to reach all its subscribers.
    func recordFanOut(nanoseconds: UInt64) { metrics.fanOut.record(nanoseconds: nanoseconds) }

    // MARK: Throttling

    /// Logs an event that clients cause, with a limited number of lines per interval.
    ///
    /// Further lines of the event are only counted.
    private func logThrottled(
        _ event: LogEvent, _ fields: KeyValuePairs<String, any CustomStringConvertible>,
        _ message: String?
    ) {
        guard log.isOn(event.level) else { return }
        // The debug level shows every connection.
        guard event.level != .debug else { return log(event, fields, message) }
        let now = clock.monotonicNanoseconds
        reportWithheld(event, at: now)
        guard throttles[event, default: LogThrottle()].admits(at: now) else { return }
        log(event, fields, message)
    }

    /// Logs the numbers of lines withheld in past intervals.
    func reportWithheldLines() {
        let now = clock.monotonicNanoseconds
        for event in LogEvent.allCases where throttles[event] != nil {
            reportWithheld(event, at: now)
        }
    }

    /// The time of the next report of withheld lines.
    var nextReport: UInt64? { throttles.values.compactMap(\.due).min() }

    private func reportWithheld(_ event: LogEvent, at now: UInt64) {
        guard let lines = throttles[event]?.consumeWithheld(at: now), lines > 0 else { return }
        log(.linesWithheld, ["event": event.rawValue, "lines": lines])
    }
}
