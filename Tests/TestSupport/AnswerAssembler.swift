package import TandemWire

/// An assembler that joins chunked answers, for tests that use the protocol directly.
///
///     if let answer = assembler.consume(envelope) { handle(answer) }
package struct AnswerAssembler: Sendable {
    private var begun: [UInt32: ChunkedAnswer] = [:]

    /// Creates an assembler without unfinished answers.
    package init() {}

    /// Returns the answer that a message completes, or nil if it completes none.
    ///
    /// A message that is not chunked is returned unchanged, and a last chunk returns the assembled
    /// answer. The result is nil for the head, for other chunks, and for chunks of an unknown
    /// answer.
    package mutating func consume(_ envelope: Envelope<DaemonMessage>) -> Envelope<DaemonMessage>? {
        switch envelope.message {
        case .fetched(let head) where head.hasMore:
            begun[envelope.id] = ChunkedAnswer(head)
            return nil
        case .part(let part):
            guard begun[envelope.id]?.append(part) ?? false, !part.hasMore else { return nil }
            return begun.removeValue(forKey: envelope.id).map {
                Envelope(id: envelope.id, message: .fetched($0.answer))
            }
        default:
            begun[envelope.id] = nil
            return envelope
        }
    }
}
