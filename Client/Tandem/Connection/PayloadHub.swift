import TandemIO
import TandemModel

/// Delivers payloads and connection events to their sequences.
final class PayloadHub: Sendable {
    typealias Saves = AsyncThrowingStream<SavePayload, any Error>

    private struct WeakFeed {
        weak var feed: ConnectionFeed?
    }

    private struct State {
        var lastKey = 0
        var saves: [Int: Saves.Continuation] = [:]
        var feeds: [WeakFeed] = []
        var isFinished = false
        var describe: (@Sendable (UInt64) -> Position?)?
        var listener: (@Sendable (ConnectionNotice) -> Void)?
    }

    private let state = Locked(State())
    private let limit: Int
    private let eventLimit: Int

    init(_ limits: ClientLimits) {
        limit = limits.bufferedPayloads
        eventLimit = limits.bufferedConnectionEvents
    }

    /// Sets the conversion of numbers to positions; call it before anything is published.
    func describe(_ position: @escaping @Sendable (UInt64) -> Position?) {
        state.withLock { $0.describe = position }
    }

    /// Sets the listener for changes of the connection and the model.
    func listen(_ listener: @escaping @Sendable (ConnectionNotice) -> Void) {
        state.withLock { $0.listener = listener }
    }

    func notify(_ notice: ConnectionNotice) { state.withLock { $0.listener }?(notice) }

    /// Whether connection or model changes have a receiver, even without subscribed entities.
    var hasEars: Bool {
        state.withLock { $0.listener != nil || $0.feeds.contains { $0.feed != nil } }
    }

    var hasListeners: Bool { state.withLock { !$0.saves.isEmpty } }

    func saves() -> Saves {
        let (stream, continuation) = Saves.makeStream(bufferingPolicy: .bufferingOldest(limit))
        let key = state.withLock { state in
            state.lastKey += 1
            state.saves[state.lastKey] = continuation
            return state.lastKey
        }
        continuation.onTermination = { [weak self] _ in
            self?.state.withLock { _ = $0.saves.removeValue(forKey: key) }
        }
        return stream
    }

    func events() -> ConnectionEvents {
        let feed = ConnectionFeed(limit: eventLimit)
        let isFinished = state.withLock { state in
            state.feeds.removeAll { $0.feed == nil }
            state.feeds.append(WeakFeed(feed: feed))
            return state.isFinished
        }
        if isFinished { feed.finish() }
        return ConnectionEvents(feed: feed)
    }

    func publish(_ transaction: Transaction, _ model: CompiledModel) {
        let (listeners, describe) = state.withLock { (Array($0.saves.values), $0.describe) }
        guard !listeners.isEmpty, let position = describe?(transaction.position) else { return }
        let payload = SavePayload(transaction, model, position)
        for listener in listeners {
            guard case .dropped = listener.yield(payload) else { continue }
            listener.finish(
                throwing: TandemError(
                    .limitExceeded,
                    "the observer was ended, because \(limit) saves were unread; start a new one"))
        }
    }

    func publish(_ event: ConnectionEvent) {
        notify(.connection(event))
        for feed in state.withLock({ $0.feeds.compactMap(\.feed) }) { feed.publish(event) }
    }

    /// Ends the sequences of saves with an error, because saves were missed.
    func interrupt() {
        let error = TandemError(
            .historyExpired,
            "the observer missed saves, because the log was replaced or the journal no longer has them; start a new one"
        )
        for listener in state.withLock({ Array($0.saves.values) }) {
            listener.finish(throwing: error)
        }
    }

    func finish() {
        let (saves, feeds) = state.withLock { state in
            state.isFinished = true
            return (Array(state.saves.values), state.feeds.compactMap(\.feed))
        }
        for listener in saves { listener.finish() }
        for feed in feeds { feed.finish() }
    }
}
