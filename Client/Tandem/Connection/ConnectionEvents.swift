import DequeModule
import TandemIO

/// The state changes of a container's connection since the sequence was created.
///
/// A reader that lags by more than ``ClientLimits/bufferedConnectionEvents`` events loses the
/// oldest. The next event contains the number of lost events (``ConnectionEvent/skipped``). The
/// sequence ends with the container.
public struct ConnectionEvents: AsyncSequence, Sendable {
    let feed: ConnectionFeed

    /// Iterates over the events; a sequence has one reader.
    public struct AsyncIterator: AsyncIteratorProtocol {
        let feed: ConnectionFeed

        /// Returns the next event, or nil after the container was closed.
        public mutating func next() async -> ConnectionEvent? { await feed.next() }
    }

    /// Creates the iterator.
    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(feed: feed) }
}

/// The unread events of one sequence.
final class ConnectionFeed: Sendable {
    private struct State {
        var queue: Deque<ConnectionEvent> = []
        var isEnded = false
        var reader: CheckedContinuation<ConnectionEvent?, Never>?
    }

    private let limit: Int
    private let state = Locked(State())

    init(limit: Int) { self.limit = max(1, limit) }

    func next() async -> ConnectionEvent? {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let outcome = state.withLock { state -> ConnectionEvent?? in
                    if !state.queue.isEmpty { return state.queue.removeFirst() }
                    if state.isEnded || Task.isCancelled { return .some(nil) }
                    precondition(state.reader == nil, "A sequence of events has one reader.")
                    state.reader = continuation
                    return nil
                }
                if let outcome { continuation.resume(returning: outcome) }
            }
        } onCancel: {
            finish()
        }
    }

    func publish(_ event: ConnectionEvent) {
        let reader = state.withLock { state -> CheckedContinuation<ConnectionEvent?, Never>? in
            if let reader = state.reader {
                state.reader = nil
                return reader
            }
            if !state.isEnded { enqueue(event, &state) }
            return nil
        }
        reader?.resume(returning: event)
    }

    /// Adds an event; if the queue is full, drops the oldest and counts them in the next event.
    private func enqueue(_ event: ConnectionEvent, _ state: inout State) {
        state.queue.append(event)
        while state.queue.count > limit {
            let oldest = state.queue.removeFirst()
            state.queue[0].skipped += oldest.skipped + 1
        }
    }

    func finish() {
        let reader = state.withLock { state in
            state.isEnded = true
            defer { state.reader = nil }
            return state.reader
        }
        reader?.resume(returning: nil)
    }
}
