import TandemIO
import TandemModel

/// Where the outcome of a request arrives, awaited by a thread or by a task.
final class Reply<Value: Sendable>: Sendable {
    typealias Outcome = Result<Value, TandemError>

    private enum State {
        case open
        case blocked(Latch)
        case suspended(CheckedContinuation<Outcome, Never>)
        case settled(Outcome)
    }

    private let state = Locked<State>(.open)

    /// Hands over the outcome; only the first one counts.
    func settle(_ outcome: Outcome) {
        let before = state.withLock { state -> State in
            let before = state
            if case .settled = before { return before }
            state = .settled(outcome)
            return before
        }
        switch before {
        case .open, .settled: break
        case .blocked(let latch): latch.signal()
        case .suspended(let continuation): continuation.resume(returning: outcome)
        }
    }

    /// Waits on the calling thread.
    func wait(with pool: LatchPool) -> Outcome {
        if let outcome { return outcome }
        do throws(TandemError) {
            let latch = try pool.take()
            let mustWait = state.withLock { state -> Bool in
                guard case .open = state else { return false }
                state = .blocked(latch)
                return true
            }
            if mustWait { latch.wait() }
            pool.give(back: latch)
        } catch {
            return .failure(error)
        }
        return outcome ?? .failure(TandemError(.disconnected, "the request was given up"))
    }

    /// Waits without holding the caller's thread.
    nonisolated(nonsending) func value() async -> Outcome {
        await withCheckedContinuation { continuation in
            let settled = state.withLock { state -> Outcome? in
                if case .settled(let outcome) = state { return outcome }
                state = .suspended(continuation)
                return nil
            }
            if let settled { continuation.resume(returning: settled) }
        }
    }

    /// Whether the outcome is there.
    var isSettled: Bool { outcome != nil }

    private var outcome: Outcome? {
        state.withLock { if case .settled(let outcome) = $0 { outcome } else { nil } }
    }
}
