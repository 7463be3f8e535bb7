import TandemJournal
import TandemModel
import TandemStore

/// Handling of a full disk or map: the committer rejects saves, keeps its state, and retries.
///
/// Durable transactions are never at risk. If no room can be reserved for a checkpoint, its changes
/// stay in the open transaction. If the commit itself fails, they are applied again. Their number
/// is bounded, because no saves are accepted meanwhile.
extension Committer {
    /// Whether saves are rejected.
    var isReadOnly: Bool { readOnlyState.isReadOnly }

    /// Reserves room in journal and store before anything is applied.
    ///
    /// Throws `readOnly` during any shortage.
    func reserve(_ bytes: Int) throws {
        try retryIfDue()
        if let refusal = readOnlyState.refusal { throw refusal }
        do throws(StoreError) {
            try store.checkQuota(for: bytes)
        } catch {
            throw enterReadOnly(error) ?? error
        }
        let frame = frameBytes + bytes + 64
        let start = clock.monotonicNanoseconds
        do {
            try journal.reserve(bytes: frame)
            counters.stalls.record(.segment, from: start, to: clock.monotonicNanoseconds)
        } catch {
            guard error.code == .noSpace else { throw error }
            throw enterReadOnly(.journal, error.description, bytes: frame)
        }
    }

    /// Retries the shortages that are due.
    func retryIfDue() throws {
        guard readOnlyState.isReadOnly, !hasPending else { return }
        for active in readOnlyState.due(at: clock.monotonicNanoseconds) {
            switch active.shortage {
            case .journal: try probeSegment(active.bytes)
            // A checkpoint commits the store, which ends both shortages or records them again.
            case .store, .map: try checkpoint()
            }
        }
    }

    private func probeSegment(_ bytes: Int) throws {
        do {
            try journal.reserve(bytes: bytes)
            leaveReadOnly(.journal)
        } catch {
            guard error.code == .noSpace else { throw error }
            enterReadOnly(.journal, error.description, bytes: bytes)
        }
    }

    /// Records a shortage, and logs it if it is new; returns the error for saves.
    @discardableResult
    func enterReadOnly(
        _ shortage: ReadOnlyState.Shortage, _ detail: String, bytes: Int = 0
    ) -> TandemError {
        let isFirstReport = !readOnlyState.isShort(shortage)
        readOnlyState.record(
            shortage, detail, bytes: bytes, wall: clock.wallMicroseconds,
            monotonic: clock.monotonicNanoseconds)
        assert(isReadOnly, "A shortage makes the daemon read-only.")
        if isFirstReport { log(.readOnly, ["position": position], readOnlyState.reason) }
        return readOnlyState.refusal ?? TandemError(.readOnly, detail)
    }

    /// Records a shortage of the store; returns nil for any other error.
    @discardableResult
    func enterReadOnly(_ error: StoreError) -> TandemError? {
        switch error.code {
        case .noSpace: enterReadOnly(.store, error.message)
        case .overQuota: enterReadOnly(.map, error.message)
        default: nil
        }
    }

    /// Clears a shortage and logs that.
    func leaveReadOnly(_ shortage: ReadOnlyState.Shortage) {
        guard readOnlyState.isShort(shortage) else { return }
        readOnlyState.clear(shortage)
        if readOnlyState.isReadOnly {
            log(.readOnly, ["position": position], readOnlyState.reason)
        } else {
            log(.writable, ["position": position], "saves are accepted again")
        }
    }
}
