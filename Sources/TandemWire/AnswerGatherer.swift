import TandemModel

/// Puts answers that come in parts together, for programs that speak the protocol by themselves and want each whole.
///
///     if let answer = gatherer.take(envelope) { handle(answer) }
package struct AnswerGatherer: Sendable {
    private var begun: [UInt32: Fetched] = [:]

    /// Nothing was begun.
    package init() {}

    /// The answer that is whole with a message: itself, or for the last part of one all of it; nil until then, and for parts of nothing.
    package mutating func take(_ envelope: Envelope<DaemonMessage>) -> Envelope<DaemonMessage>? {
        switch envelope.message {
        case .fetched(let head) where head.hasMore:
            begun[envelope.id] = head
            return nil
        case .part(let part):
            guard begun[envelope.id]?.append(part) ?? false, !part.hasMore else { return nil }
            return begun.removeValue(forKey: envelope.id).map {
                Envelope(id: envelope.id, message: .fetched($0))
            }
        default:
            begun[envelope.id] = nil
            return envelope
        }
    }
}
