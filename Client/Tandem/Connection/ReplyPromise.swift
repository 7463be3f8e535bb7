import TandemIO
import TandemModel

/// A one-shot promise of a request's outcome, awaited by a thread or by a task.
final class ReplyPromise<Value: Sendable>: Sendable {
    typealias Outcome = Result<Value, TandemError>

    private enum Waiter {
        case thread(ThreadSemaphore)
        case task(CheckedContinuation<Void, Never>)
    }

    private enum State {
        case open
        case waiting(Waiter)
        // Indirect, because an outcome is large: the state is copied by reference.
        indirect case resolved(Outcome)
    }

    private let state = Locked<State>(.open)

    /// Resolves the promise; only the first call has an effect.
    func resolve(_ outcome: Outcome) {
        let waiter = state.withLock { state -> Waiter? in
            if case .resolved = state { return nil }
            defer { state = .resolved(outcome) }
            if case .waiting(let waiter) = state { return waiter }
            return nil
        }
        switch waiter {
        case nil: break
        case .thread(let semaphore): semaphore.signal()
        case .task(let continuation): continuation.resume()
        }
    }

    /// Blocks the calling thread until the promise is resolved.
    func wait(with pool: SemaphorePool) -> Outcome {
        if let outcome { return outcome }
        do throws(TandemError) {
            let semaphore = try pool.acquire()
            let mustWait = state.withLock { state -> Bool in
                guard case .open = state else { return false }
                state = .waiting(.thread(semaphore))
                return true
            }
            if mustWait { semaphore.wait() }
            pool.release(semaphore)
        } catch {
            return .failure(error)
        }
        return outcome ?? Self.cancelled
    }

    /// Suspends the calling task until the promise is resolved.
    func value() async -> Outcome {
        await withCheckedContinuation { continuation in
            let isResolved = state.withLock { state -> Bool in
                if case .resolved = state { return true }
                state = .waiting(.task(continuation))
                return false
            }
            if isResolved { continuation.resume() }
        }
        // Read under the lock: the thread sanitizer does not see the order that a continuation
        // establishes if it is resumed before the task has suspended.
        return outcome ?? Self.cancelled
    }

    private static var cancelled: Outcome {
        .failure(TandemError(.disconnected, "the request was cancelled"))
    }

    /// Whether the promise is resolved.
    var isResolved: Bool { state.withLock { if case .resolved = $0 { true } else { false } } }

    private var outcome: Outcome? {
        state.withLock { if case .resolved(let outcome) = $0 { outcome } else { nil } }
    }
}
