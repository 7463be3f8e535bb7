/// The streams of signals without content of one list; bound to its actor.
final class ResultsSignals {
    private var readers: [AsyncStream<Void>.Continuation] = []

    /// Whether no stream was made, or all have ended.
    var isEmpty: Bool { readers.isEmpty }

    /// Returns a stream of the signals from now on; unread signals count as one.
    func stream() -> AsyncStream<Void> {
        let (stream, continuation) = AsyncStream.makeStream(
            of: Void.self, bufferingPolicy: .bufferingNewest(1))
        readers.append(continuation)
        return stream
    }

    /// Signals all readers, and forgets those that have ended.
    func send() {
        readers.removeAll { if case .terminated = $0.yield() { true } else { false } }
    }

    deinit { for reader in readers { reader.finish() } }
}
