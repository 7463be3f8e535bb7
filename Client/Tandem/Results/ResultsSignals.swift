/// The streams of signals of one list, which have no content; bound to the list's actor.
final class ResultsSignals {
    private var readers: [AsyncStream<Void>.Continuation] = []

    /// Whether no stream is open.
    var isEmpty: Bool { readers.isEmpty }

    /// Returns a stream of the later signals; unread signals are merged into one.
    func stream() -> AsyncStream<Void> {
        let (stream, continuation) = AsyncStream.makeStream(
            of: Void.self, bufferingPolicy: .bufferingNewest(1))
        readers.append(continuation)
        return stream
    }

    /// Signals all readers, and removes those that have ended.
    func send() {
        readers.removeAll { if case .terminated = $0.yield() { true } else { false } }
    }

    deinit { for reader in readers { reader.finish() } }
}
