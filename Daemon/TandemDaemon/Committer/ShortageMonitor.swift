import TandemIO
import TandemModel
import TandemStore

/// The owner of the read-only state, which logs its changes.
struct ShortageMonitor {
    private let clock: any Clock
    private let log: DaemonLog
    private(set) var state = ReadOnlyState()

    init(clock: any Clock, log: DaemonLog) { (self.clock, self.log) = (clock, log) }

    /// Whether saves are rejected.
    var isReadOnly: Bool { state.isReadOnly }

    /// Whether a commit of the store is expected to find no room.
    var isStoreShort: Bool { state.isShort(.store) || state.isShort(.map) }

    /// Returns the shortages whose retry is due.
    func due() -> [ReadOnlyState.ActiveShortage] { state.due(at: clock.monotonicNanoseconds) }

    /// Records a shortage, and logs it if it is new; returns the error for saves.
    mutating func enter(
        _ shortage: ReadOnlyState.Shortage, _ detail: String, bytes: Int, at position: UInt64
    ) -> TandemError {
        let isFirstReport = !state.isShort(shortage)
        state.record(
            shortage, detail, bytes: bytes, wall: clock.wallMicroseconds,
            monotonic: clock.monotonicNanoseconds)
        assert(isReadOnly, "A shortage makes the daemon read-only.")
        if isFirstReport { log(.readOnly, ["position": position], state.reason) }
        return state.refusal ?? TandemError(.readOnly, detail)
    }

    /// Clears a shortage, and logs the change.
    mutating func leave(_ shortage: ReadOnlyState.Shortage, at position: UInt64) {
        guard state.isShort(shortage) else { return }
        state.clear(shortage)
        if isReadOnly {
            log(.readOnly, ["position": position], state.reason)
        } else {
            log(.writable, ["position": position], "saves are accepted again")
        }
    }
}
