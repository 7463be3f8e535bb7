import TandemIO
import TandemModel

/// Delivers payloads and connection events to their sequences.
final class PayloadHub: Sendable {
    typealias Saves = Feed<SavePayload, any Error>

    private struct State {
        var saves = FeedList<SavePayload, any Error>()
        var events = FeedList<ConnectionEvent, Never>()
        var isFinished = false
        var describe: (@Sendable (UInt64) -> Position?)?
        var listener: (@Sendable (ConnectionNotice) -> Void)?
    }

    private let state = Locked(State())
    private let limit: Int
    private let eventLimit: Int

    init(_ limits: ClientLimits) {
        limit = limits.bufferedPayloads
        eventLimit = max(1, limits.bufferedConnectionEvents)
    }

    /// Sets the conversion of numbers to positions; call it before anything is published.
    func describe(_ position: @escaping @Sendable (UInt64) -> Position?) {
        state.withLock { $0.describe = position }
    }

    /// Sets the listener for changes in the state of the connection, and for model changes.
    func listen(_ listener: @escaping @Sendable (ConnectionNotice) -> Void) {
        state.withLock { $0.listener = listener }
    }

    func notify(_ notice: ConnectionNotice) { state.withLock { $0.listener }?(notice) }

    /// Whether connection events or model changes have a receiver; receiving them requires no
    /// subscription.
    var hasEventReaders: Bool {
        let (hasListener, events) = state.withLock { ($0.listener != nil, $0.events) }
        return hasListener || !events.isEmpty
    }

    /// Whether saves have a receiver.
    var hasSaveReaders: Bool { !state.withLock { $0.saves }.isEmpty }

    /// Returns a feed of the saves from now on.
    func saves() -> Saves {
        let (feed, isFinished) = state.withLock { ($0.saves.make(), $0.isFinished) }
        if isFinished { feed.finish() }
        return feed
    }

    /// Returns a feed of the connection's events from now on.
    func events() -> Feed<ConnectionEvent, Never> {
        let (feed, isFinished) = state.withLock { ($0.events.make(), $0.isFinished) }
        if isFinished { feed.finish() }
        return feed
    }

    func publish(_ transaction: Transaction, _ model: CompiledModel) {
        let (saves, describe) = state.withLock { ($0.saves, $0.describe) }
        let feeds = saves.open
        guard !feeds.isEmpty, let position = describe?(transaction.position) else { return }
        let payload = SavePayload(transaction, model, position)
        for feed in feeds {
            feed.publish(
                payload, limit: limit,
                overflow: TandemError(
                    .limitExceeded,
                    "the observer was ended, because \(limit) saves were unread; start a new one"))
        }
    }

    /// Publishes an event; if a reader lags too far, its oldest events are dropped and counted in
    /// the next event.
    func publish(_ event: ConnectionEvent) {
        notify(.connection(event))
        for feed in state.withLock({ $0.events }).open {
            feed.publish(event) { unread in
                unread.append(event)
                if unread.count > eventLimit {
                    let oldest = unread.removeFirst()
                    unread[0].skipped += oldest.skipped + 1
                }
                return nil
            }
        }
    }

    /// Ends the sequences of saves with an error, because saves were missed.
    func interrupt() {
        let error = TandemError(
            .historyExpired,
            "the observer missed saves, because the log was replaced or the journal no longer has them; start a new one"
        )
        for feed in state.withLock({ $0.saves }).open { feed.finish(throwing: error) }
    }

    func finish() {
        let (saves, events) = state.withLock { state in
            state.isFinished = true
            return (state.saves, state.events)
        }
        for feed in saves.open { feed.finish() }
        for feed in events.open { feed.finish() }
    }
}
