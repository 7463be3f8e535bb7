import DequeModule
import TandemIO
import TandemModel

/// The buffer of unread elements of a sequence with one reader.
///
/// All sequences that the library publishes to read from a feed. The publisher decides how an
/// element is added if earlier ones are unread: appended up to a limit, merged, or dropped.
/// Elements can be published and read on any thread.
final class Feed<Element: Sendable, Failure: Error>: Sendable {
    private typealias Outcome = Result<Element?, Failure>

    private struct State {
        var unread: Deque<Element> = []
        /// The outcome of reading after the last unread element; nil while the feed is open.
        var end: Outcome?
        /// The waiting reader; if there is one, no element is unread.
        var reader: CheckedContinuation<Outcome, Never>?
    }

    private let state = Locked(State())

    /// Whether no more elements are accepted.
    var isEnded: Bool { state.withLock { $0.end != nil } }

    /// Whether an element published now would be the only unread one.
    var isFullyRead: Bool { state.withLock { $0.reader == nil && $0.unread.isEmpty } }

    /// Returns the next element, or nil at the end; cancelling the task ends the feed.
    func next(isolation: isolated (any Actor)? = #isolation) async throws(Failure) -> Element? {
        let outcome = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let outcome = state.withLock { state -> Outcome? in
                    if let element = state.unread.popFirst() { return .success(element) }
                    if let end = state.end {
                        state.end = .success(nil)
                        return end
                    }
                    require(state.reader == nil, "A sequence has one reader.")
                    state.reader = continuation
                    return nil
                }
                if let outcome { continuation.resume(returning: outcome) }
            }
        } onCancel: {
            finish()
        }
        return try outcome.get()
    }

    /// Hands an element to the waiting reader or, if there is none, adds it to the unread elements
    /// with `enqueue`.
    ///
    /// If `enqueue` returns an error, the feed ends with it after the unread elements.
    func publish(_ element: Element, enqueue: (inout Deque<Element>) -> Failure?) {
        let reader = state.withLock { state -> CheckedContinuation<Outcome, Never>? in
            if let reader = state.reader.take() { return reader }
            if state.end == nil { state.end = enqueue(&state.unread).map { .failure($0) } }
            return nil
        }
        reader?.resume(returning: .success(element))
    }

    /// Ends the feed after the unread elements, with an error if there is one.
    func finish(throwing error: Failure? = nil) {
        let reader = state.withLock { state -> CheckedContinuation<Outcome, Never>? in
            if let reader = state.reader.take() {
                state.end = .success(nil)
                return reader
            }
            if state.end == nil { state.end = error.map { .failure($0) } ?? .success(nil) }
            return nil
        }
        reader?.resume(returning: error.map { .failure($0) } ?? .success(nil))
    }
}

extension Feed where Failure == any Error {
    /// Publishes an element; if `limit` elements are already unread, the feed ends with `overflow`.
    func publish(_ element: Element, limit: Int, overflow: @autoclosure () -> Failure) {
        publish(element) { unread in
            guard unread.count < limit else { return overflow() }
            unread.append(element)
            return nil
        }
    }
}

/// A sequence that reads from a feed.
struct FeedSequence<Element: Sendable, Failure: Error>: AsyncSequence, Sendable {
    let feed: Feed<Element, Failure>

    struct Iterator: AsyncIteratorProtocol {
        let feed: Feed<Element, Failure>

        mutating func next(
            isolation actor: isolated (any Actor)?
        ) async throws(Failure) -> Element? {
            try await feed.next(isolation: actor)
        }
    }

    func makeAsyncIterator() -> Iterator { Iterator(feed: feed) }
}

/// The feeds to which one object publishes; a feed without a reader is removed.
struct FeedList<Element: Sendable, Failure: Error>: Sendable {
    private struct WeakFeed: Sendable {
        weak var feed: Feed<Element, Failure>?
    }

    private var feeds: [WeakFeed] = []

    /// The feeds that accept elements.
    var open: [Feed<Element, Failure>] {
        feeds.isEmpty ? [] : feeds.compactMap(\.feed).filter { !$0.isEnded }
    }

    /// Whether no feed accepts elements.
    var isEmpty: Bool { open.isEmpty }

    /// Adds a new feed.
    mutating func make() -> Feed<Element, Failure> {
        feeds.removeAll { $0.feed == nil }
        let feed = Feed<Element, Failure>()
        feeds.append(WeakFeed(feed: feed))
        return feed
    }
}
