import TandemModel
import TandemWire

/// Reports of the engine about sessions and saves, to the log and the service manager.
extension Engine {
    /// Reports that the daemon is ready.
    func begin() {
        let counters = committer.counters
        log(
            .ready,
            [
                "store": storePath, "position": committer.position,
                "replayed": counters.replayedChanges,
                "replay_us": counters.replayNanoseconds / 1_000,
            ])
        notifier.ready(summary)
    }

    /// Makes a final checkpoint, and closes journal and store.
    func end() throws {
        let start = clock.monotonicNanoseconds
        let position = committer.position
        try committer.close()
        let microseconds = (clock.monotonicNanoseconds - start) / 1_000
        log(.stopped, ["position": position, "duration_us": microseconds])
    }

    /// The state of the daemon in one line, for `systemctl status`.
    var summary: String {
        let readOnlyState = committer.readOnlyState
        let state = readOnlyState.isReadOnly ? "read-only (\(readOnlyState.reason))" : "serving"
        return "\(state): position \(committer.position), \(sessions.count) clients"
    }

    /// Logs an event of a session.
    func logEvent(
        _ session: Session, _ event: LogEvent, _ reason: String? = nil, _ refusal: Refusal? = nil
    ) {
        guard log.isOn(event.level) else { return }
        let peer = session.peer
        let seconds = (clock.monotonicNanoseconds - session.connectedAt) / 1_000_000_000
        logThrottled(
            event,
            [
                "reason": refusal?.rawValue ?? "-", "client": session.id, "pid": peer.pid,
                "uid": peer.uid, "gid": peer.gid, "author": session.author, "unit": session.unit,
                "position": session.sent, "connected_s": seconds,
            ], reason)
    }

    /// Counts and logs a refused save, without its values.
    func refused(_ session: Session, _ error: TandemError) {
        metrics.record(refusedSave: error.code)
        log(
            .saveRefused,
            [
                "code": error.code.rawValue, "client": session.id, "pid": session.peer.pid,
                "uid": session.peer.uid, "author": session.author, "unit": session.unit,
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
                    "author": session.author, "unit": session.unit,
                    "duration_us": duration / 1_000,
                ])
        }
    }
}
