import DequeModule
import Synchronization
import TandemModel
import TandemResults

/// The behaviour of a sequence of changes whose reader lags.
public enum ResultsPolicy: Hashable, Sendable {
    /// Keeps every change, up to a limit of unread ones, at which the sequence ends with
    /// `limitExceeded`.
    case every(limit: Int)
    /// Merges unread changes into one.
    ///
    /// While a change is unread, the list that the reader knows is kept, and each further merge
    /// compares the current list with that list: O(n), on the context's actor. For a long list that
    /// changes often, signals are much cheaper (``FetchedResultsController/signals()``).
    case latest

    /// Keeps every change, up to 1,024 unread ones.
    public static let every = ResultsPolicy.every(limit: 1_024)
}

/// The changes of a results controller after the creation of the sequence.
///
/// Applied in order to the sections at that moment, the changes produce each later state. The
/// sequence ends when the controller is released.
public struct ControllerChanges: AsyncSequence, Sendable {
    let feed: ResultsFeed

    /// An iterator over the changes; a sequence has one reader.
    public struct AsyncIterator: AsyncIteratorProtocol {
        let feed: ResultsFeed

        /// Returns the next change, or nil after the controller was deinitialised.
        ///
        /// Throws `limitExceeded` if the reader lagged too far.
        public mutating func next() async throws -> ControllerChange? { try await feed.next() }
    }

    /// Creates the iterator.
    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(feed: feed) }
}

/// The sequences to which a controller publishes; bound to its actor.
final class ResultsFeeds {
    private struct WeakFeed {
        weak var feed: ResultsFeed?
    }

    private var all: [WeakFeed] = []
    let signals = ResultsSignals()

    func make(_ policy: ResultsPolicy) -> ResultsFeed {
        let feed = ResultsFeed(policy)
        all.append(WeakFeed(feed: feed))
        return feed
    }

    /// Whether there is no reader.
    var isEmpty: Bool { signals.isEmpty && all.allSatisfy { $0.feed == nil } }

    /// Whether any reader may need the next change to be merged with later ones.
    var needsOldList: Bool {
        all.contains { $0.feed?.needsOldList ?? false }
    }

    func publish(_ update: ControllerChange, from old: SectionedList?, to new: SectionedList) {
        signals.send()
        if all.isEmpty { return }
        all.removeAll { $0.feed == nil }
        for feed in all { feed.feed?.publish(update, from: old, to: new) }
    }

    func finish() {
        for feed in all { feed.feed?.finish() }
    }
}

/// The unread changes of one sequence.
final class ResultsFeed: Sendable {
    private struct State {
        var queue: Deque<ControllerChange> = []
        /// The list before the first unread change, if it was kept.
        var base: SectionedList?
        var isEnded = false
        var failure: TandemError?
        var reader: CheckedContinuation<ControllerChange?, any Error>?
    }

    private let policy: ResultsPolicy
    private let state = Mutex(State())

    init(_ policy: ResultsPolicy) { self.policy = policy }

    var needsOldList: Bool {
        policy == .latest && state.withLock { $0.reader == nil && $0.queue.isEmpty }
    }

    func next() async throws -> ControllerChange? {
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let outcome = state.withLock { state -> Result<ControllerChange?, any Error>? in
                    if !state.queue.isEmpty {
                        state.base = nil
                        return .success(state.queue.removeFirst())
                    }
                    if let failure = state.failure { return .failure(failure) }
                    if state.isEnded || Task.isCancelled { return .success(nil) }
                    precondition(state.reader == nil, "A sequence of changes has one reader.")
                    state.reader = continuation
                    return nil
                }
                if let outcome { continuation.resume(with: outcome) }
            }
        } onCancel: {
            finish()
        }
    }

    func publish(_ update: ControllerChange, from old: SectionedList?, to new: SectionedList) {
        let reader = state.withLock { state -> CheckedContinuation<ControllerChange?, any Error>? in
            if state.isEnded || state.failure != nil { return nil }
            if let reader = state.reader {
                state.reader = nil
                return reader
            }
            enqueue(update, old, new, &state)
            return nil
        }
        reader?.resume(returning: update)
    }

    private func enqueue(
        _ update: ControllerChange, _ old: SectionedList?, _ new: SectionedList,
        _ state: inout State
    ) {
        switch policy {
        case .every(let limit):
            guard state.queue.count < limit else {
                state.failure = TandemError(
                    .limitExceeded,
                    "the reader was ended, because \(limit) changes were unread; fetch again")
                return
            }
            state.queue.append(update)
        case .latest:
            guard let base = state.base, let first = state.queue.first else {
                if state.queue.isEmpty { state.base = old }
                state.queue.append(update)
                return
            }
            let changed = first.change.parts.merging(update.change.parts) { $0.union($1) }
            let merged = update.replacing(
                change: new.change(from: base, changed: changed) ?? .none, since: first)
            state.queue = merged.isReportable ? [merged] : []
            if state.queue.isEmpty { state.base = nil }
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

extension ResultsChange {
    /// The objects that are in the list after the change, with their reasons.
    fileprivate var parts: [ObjectNumber: ChangeReason] {
        var parts: [ObjectNumber: ChangeReason] = [:]
        for object in objects where object.to != nil {
            parts[object.number] = reasons[object.number] ?? []
        }
        return parts
    }
}
