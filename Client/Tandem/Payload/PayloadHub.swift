import TandemIO
import TandemModel

/// Hands payloads and connection events to everyone who iterates over them.
final class PayloadHub: Sendable {
    typealias Saves = AsyncThrowingStream<SavePayload, any Error>
    typealias Events = AsyncStream<ConnectionEvent>

    private struct State {
        var lastKey = 0
        var saves: [Int: Saves.Continuation] = [:]
        var events: [Int: Events.Continuation] = [:]
        var describe: (@Sendable (UInt64) -> Position?)?
        var listener: (@Sendable (ConnectionNotice) -> Void)?
    }

    private let state = Locked(State())
    private let limit: Int

    init(limit: Int) { self.limit = limit }

    /// Sets how a number becomes a position; before anything is published.
    func describe(_ position: @escaping @Sendable (UInt64) -> Position?) {
        state.withLock { $0.describe = position }
    }

    /// Sets who is told of connection and model at once.
    func listen(_ listener: @escaping @Sendable (ConnectionNotice) -> Void) {
        state.withLock { $0.listener = listener }
    }

    func notify(_ notice: ConnectionNotice) { state.withLock { $0.listener }?(notice) }

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

    func events() -> Events {
        let (stream, continuation) = Events.makeStream(bufferingPolicy: .bufferingNewest(64))
        let key = state.withLock { state in
            state.lastKey += 1
            state.events[state.lastKey] = continuation
            return state.lastKey
        }
        continuation.onTermination = { [weak self] _ in
            self?.state.withLock { _ = $0.events.removeValue(forKey: key) }
        }
        return stream
    }

    func publish(_ transaction: Transaction, _ model: CompiledModel) {
        let (listeners, describe) = state.withLock { (Array($0.saves.values), $0.describe) }
        guard !listeners.isEmpty, let position = describe?(transaction.position) else { return }
        let payload = SavePayload(transaction, model, position)
        for listener in listeners {
            guard case .dropped = listener.yield(payload) else { continue }
            listener.finish(
                throwing: TandemError(
                    .limitExceeded, "the observer lagged \(limit) saves behind; observe anew"))
        }
    }

    func publish(_ event: ConnectionEvent) {
        notify(.connection(event))
        for listener in state.withLock({ Array($0.events.values) }) { listener.yield(event) }
    }

    func finish() {
        let (saves, events) = state.withLock { (Array($0.saves.values), Array($0.events.values)) }
        for listener in saves { listener.finish() }
        for listener in events { listener.finish() }
    }
}
