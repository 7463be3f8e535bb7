import TandemJournal
import TandemModel
import TandemStore

/// Handling of a full disk or map: the committer rejects saves, keeps its state, and retries.
///
/// Durable transactions are never at risk. If a checkpoint finds no room in advance, its changes
/// stay in the open transaction. If it fails later, they are applied again. Their number is
/// bounded, because no saves are accepted meanwhile.
extension Committer {
    /// Whether saves are rejected.
    var isReadOnly: Bool { ability.isReadOnly }

    /// Reserves room in journal and store before anything is applied.
    ///
    /// Throws `readOnly` during any shortage.
    func reserve(_ bytes: Int) throws {
        try lookAgainIfDue()
        if let refusal = ability.refusal { throw refusal }
        do throws(StoreError) {
            try store.checkQuota(for: bytes)
        } catch {
            throw meets(error) ?? error
        }
        let frame = frameBytes + bytes + 64
        let start = clock.monotonicNanoseconds
        do {
            try journal.reserve(bytes: frame)
            counters.stalls.note(.segment, from: start, to: clock.monotonicNanoseconds)
        } catch {
            guard error.code == .noSpace else { throw error }
            throw meets(.journal, error.description, bytes: frame)
        }
    }

    /// Retries the shortages that are due.
    func lookAgainIfDue() throws {
        guard ability.isReadOnly, !hasPending else { return }
        for trouble in ability.due(at: clock.monotonicNanoseconds) {
            switch trouble.shortage {
            case .journal: try lookForSegment(trouble.bytes)
            // A checkpoint commits the store, which ends both shortages or records them again.
            case .store, .map: try checkpoint()
            }
        }
    }

    private func lookForSegment(_ bytes: Int) throws {
        do {
            try journal.reserve(bytes: bytes)
            ends(.journal)
        } catch {
            guard error.code == .noSpace else { throw error }
            meets(.journal, error.description, bytes: bytes)
        }
    }

    /// Records a shortage, and logs it if it is new; returns the error for saves.
    @discardableResult
    func meets(
        _ shortage: SaveAbility.Shortage, _ detail: String, bytes: Int = 0
    ) -> TandemError {
        let isNews = !ability.isShort(shortage)
        ability.met(
            shortage, detail, bytes: bytes, wall: clock.wallMicroseconds,
            monotonic: clock.monotonicNanoseconds)
        assert(isReadOnly, "A shortage makes the daemon read-only.")
        if isNews { log(.readOnly, ["position": position], ability.reason) }
        return ability.refusal ?? TandemError(.readOnly, detail)
    }

    /// Records a shortage of the store; returns nil for any other error.
    @discardableResult
    func meets(_ error: StoreError) -> TandemError? {
        switch error.code {
        case .noSpace: meets(.store, error.message)
        case .overQuota: meets(.map, error.message)
        default: nil
        }
    }

    /// Clears a shortage and logs that.
    func ends(_ shortage: SaveAbility.Shortage) {
        guard ability.isShort(shortage) else { return }
        ability.ended(shortage)
        if ability.isReadOnly {
            log(.readOnly, ["position": position], ability.reason)
        } else {
            log(.writable, ["position": position], "saves are taken again")
        }
    }
}
