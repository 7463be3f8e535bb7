import TandemJournal
import TandemModel
import TandemStore

/// What the committer does when disk or map run out: it refuses saves, keeps what it has, and looks again.
///
/// What the journal has is never at stake: a checkpoint that finds no room stays undone, with its changes in the open
/// transaction if it was foreseen and applied anew if it was not; the changes that can wait like this are
/// bounded, as no saves are taken meanwhile.
extension Committer {
    /// True while saves are refused.
    var isReadOnly: Bool { ability.isReadOnly }

    /// Makes sure that journal and store have room before anything is applied.
    ///
    /// Throws `readOnly` while anything is short.
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

    /// Looks whether what was short is there again, if it is time to.
    func lookAgainIfDue() throws {
        guard ability.isReadOnly, !hasPending else { return }
        for trouble in ability.due(at: clock.monotonicNanoseconds) {
            switch trouble.shortage {
            case .journal: try lookForSegment(trouble.bytes)
            // Commits the store, which ends both or notes them again.
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

    /// Notes that something is short and says so once; returns with what saves are refused.
    @discardableResult
    func meets(
        _ shortage: SaveAbility.Shortage, _ detail: String, bytes: Int = 0
    ) -> TandemError {
        let isNews = !ability.isShort(shortage)
        ability.met(
            shortage, detail, bytes: bytes, wall: clock.wallMicroseconds,
            monotonic: clock.monotonicNanoseconds)
        if isNews { log(.readOnly, ["position": position], ability.reason) }
        return ability.refusal ?? TandemError(.readOnly, detail)
    }

    /// Notes the store's shortage; nil for any other error.
    @discardableResult
    func meets(_ error: StoreError) -> TandemError? {
        switch error.code {
        case .noSpace: meets(.store, error.message)
        case .overQuota: meets(.map, error.message)
        default: nil
        }
    }

    /// Notes that something is there again and says so.
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
