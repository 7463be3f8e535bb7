import Synchronization
import TandemModel
import TandemResults

/// What a sequence of changes does when its reader lags.
public enum ResultsPolicy: Hashable, Sendable {
    /// Keeps every change, up to a number; beyond it the sequence ends with `limitExceeded`.
    case every(limit: Int)
    /// Merges what was not read yet into one change.
    ///
    /// While one is unread, each further merge compares the list with the one that the reader knows, which is kept so long: O(n), on the
    /// context's actor. Of a long list that changes often signals cost nothing beside (``FetchedResultsController/signals()``).
    case latest

    /// Every change, up to 1,024 unread ones.
    public static let every = ResultsPolicy.every(limit: 1_024)
}

/// The changes of a results controller, from the moment it is made.
///
/// Replaying them on the controller's snapshot of that moment gives each later one. It ends with the controller.
public struct ControllerChanges: AsyncSequence, Sendable {
    let feed: ResultsFeed

    /// Goes through the updates; a sequence has one reader.
    public struct AsyncIterator: AsyncIteratorProtocol {
        let feed: ResultsFeed

        /// The next update; nil when the controller is gone.
        ///
        /// Throws `limitExceeded` after lagging too far.
        public mutating func next() async throws -> ControllerChange? { try await feed.next() }
    }

    /// Begins to read.
    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(feed: feed) }
}

extension FetchedResultsController {
    /// The changes from now on, those of refetches included, for a reader on any actor; the first list, failures and recoveries count
    /// as such, too (``ControllerChange/error``).
    ///
    /// It ends with the controller, and with `limitExceeded` for a reader that lags further behind than the policy allows.
    public func changes(_ policy: ResultsPolicy = .every) -> ControllerChanges {
        ControllerChanges(feed: feeds.make(policy))
    }
}

/// The sequences that a controller feeds; bound to its actor.
final class ResultsFeeds {
    private struct WeakFeed {
        weak var feed: ResultsFeed?
    }

    private var all: [WeakFeed] = []
    private var signals: [AsyncStream<Void>.Continuation] = []

    func make(_ policy: ResultsPolicy) -> ResultsFeed {
        let feed = ResultsFeed(policy)
        all.append(WeakFeed(feed: feed))
        return feed
    }

    /// Adds somebody who is told that something changed, not what.
    func add(_ signal: AsyncStream<Void>.Continuation) { signals.append(signal) }

    /// Whether nobody reads.
    var isEmpty: Bool { signals.isEmpty && all.allSatisfy { $0.feed == nil } }

    /// Whether somebody may have to merge the next change with those after it.
    var needsOldList: Bool {
        all.contains { $0.feed?.needsOldList ?? false }
    }

    func publish(_ update: ControllerChange, from old: SectionedList?, to new: SectionedList) {
        signals.removeAll { signal in
            if case .terminated = signal.yield() { true } else { false }
        }
        if all.isEmpty { return }
        all.removeAll { $0.feed == nil }
        for feed in all { feed.feed?.publish(update, from: old, to: new) }
    }

    func finish() {
        for feed in all { feed.feed?.finish() }
        for signal in signals { signal.finish() }
    }
}

/// The unread updates of one sequence.
final class ResultsFeed: Sendable {
    private struct State {
        var queue: [ControllerChange] = []
        /// The list before the first unread update, if it was kept.
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
                    .limitExceeded, "the reader lagged \(limit) changes behind; fetch anew")
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
            state.queue = merged.isNews ? [merged] : []
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
    /// The objects that are in the list afterwards, with the reasons that were given.
    fileprivate var parts: [ObjectNumber: ChangeReason] {
        var parts: [ObjectNumber: ChangeReason] = [:]
        for object in objects where object.to != nil {
            parts[object.number] = reasons[object.number] ?? []
        }
        return parts
    }
}

extension FetchedResultsController {
    /// Says that something changed, failed or recovered, and no more: for those who read the list anew anyhow.
    ///
    /// Changes that nobody has looked at count as one. It ends with the controller.
    public func signals() -> AsyncStream<Void> {
        let (stream, continuation) = AsyncStream.makeStream(
            of: Void.self, bufferingPolicy: .bufferingNewest(1))
        feeds.add(continuation)
        return stream
    }
}
