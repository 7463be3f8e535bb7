import TandemIO
import TandemModel
import TandemWire

/// The pins of sessions, which end with their sessions.
extension JournalMaintenance {
    /// Creates, moves or releases a pin; a pin that can't be moved stays where it is.
    ///
    /// Throws `limitExceeded` if there are too many pins or the position is too far back, and
    /// `historyExpired` if the state at that position can no longer be reconstructed.
    func answer(_ request: PinRequest, _ session: Session) throws -> PinAnswer {
        guard request.lease != 0 else { throw TandemError(.usage, "a pin's number must not be 0") }
        endPins(of: session)
        guard request.position != 0 else {
            if session.pins.release(request.lease) { scheduleRetention() }
            return PinAnswer(position: 0, seconds: 0)
        }
        try committer.check(readingAt: request.position)
        let isMove = session.pins[request.lease] != nil
        guard isMove || session.pins.count < committer.limits.pinsPerConnection else {
            throw committer.limitCounters.refusal(
                .pinsPerConnection, committer.limits,
                "this connection has too many pins; release one")
        }
        let seconds = UInt64(committer.limits.pinSeconds)
        let ends = clock.monotonicNanoseconds + seconds * 1_000_000_000
        session.pins.set(PinLease(position: request.position, ends: ends), for: request.lease)
        if isMove { scheduleRetention() }
        return PinAnswer(position: request.position, seconds: seconds)
    }

    /// Throws `historyExpired` for a read at a pin that has ended.
    func check(_ lease: UInt32, at position: UInt64, _ session: Session) throws(TandemError) {
        guard lease != 0 else { return }
        endPins(of: session)
        if let pin = session.pins[lease], pin.position <= position { return }
        throw TandemError(
            .historyExpired,
            "the pin at position \(position) has ended: after limits.pinSeconds "
                + "(\(committer.limits.pinSeconds)), with its connection, or because the journal needed the space"
        )
    }

    /// The positions of pins that have not ended.
    var pinned: [UInt64] {
        for session in admission.sessions.values { endPins(of: session) }
        return admission.sessions.values.flatMap(\.pins.positions)
    }

    /// The earliest end of a pin, in nanoseconds of the monotonic clock.
    var nextPinEnd: UInt64? {
        admission.sessions.values.lazy.compactMap(\.pins.nextEnd).min()
    }

    /// Ends pins whose transactions are being removed.
    func endPins(below position: UInt64) {
        for session in admission.sessions.values {
            countExpiredPins(session.pins.end(below: position))
        }
    }

    /// Ends the expired pins of a session.
    private func endPins(of session: Session) {
        guard !session.pins.isEmpty else { return }
        let ended = session.pins.endExpired(at: clock.monotonicNanoseconds)
        guard ended > 0 else { return }
        committer.limitCounters.record(.pinSeconds, UInt64(ended))
        countExpiredPins(ended)
    }
}
