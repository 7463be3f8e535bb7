import TandemModel

/// The results of a request in batches, all read at one position, even while others save.
///
///     for try await teams in context.batches(for: FetchRequest(Team.self, sort: ["-wins"])) {
///         for team in teams { try write(team) }
///     }
///
/// A batch has the requested number of elements; the last batch may have fewer, but is never empty.
///
/// A loop has a context of its own, on the actor of the requesting context. It is pinned at that
/// context's pin or, without a pin, at the end of the journal when the loop begins. The objects
/// belong to the loop's context, so a batch and the objects that it refers to are consistent. They
/// are read-only: to change an object, fetch it into your own context (`existingObject(with:
/// object.id)`).
///
/// **Memory.** The next batch is requested when it is needed, so a slow loop delays no other
/// client. The loop holds at most 262,144 ids, the rows of one batch, and the objects that you
/// keep. Between two batches, the daemon holds only the pin.
///
/// **End.** The pin is released when the loop ends: after the last batch, by `break`, by an error,
/// or by cancellation of the task. Cancellation throws `CancellationError` and also stops the
/// daemon's work on the batch. Objects that you keep then belong to an unpinned context, which
/// restarts at its next request.
///
/// **Errors.** A loop throws the errors of fetches. It throws `historyExpired` if the daemon can't
/// read the loop's position any more, because a batch took longer than `limits.pinSeconds` or the
/// journal was trimmed. The first batch throws `limitExceeded` if the connection has too many pins.
/// After an error there are no more batches.
///
/// Each iterator is an independent loop. It is bound to the context's actor.
public struct FetchBatches<Value>: AsyncSequence {
    let makeReader: () -> BatchReader
    let value: (BatchReader, ObjectReference) -> Value?

    /// Iterates over the batches of one loop.
    public struct AsyncIterator: AsyncIteratorProtocol {
        let reader: BatchReader
        let value: (BatchReader, ObjectReference) -> Value?

        /// Returns the next batch, or nil at the end.
        public mutating func next() async throws -> [Value]? {
            try await next(isolation: #isolation)
        }

        /// Returns the next batch, or nil at the end.
        public mutating func next(
            isolation actor: isolated (any Actor)?
        ) async throws(any Error) -> [Value]? {
            guard let batch = try await reader.next(isolation: actor) else { return nil }
            return batch.compactMap { value(reader, $0) }
        }
    }

    /// Creates a loop; no request is sent before the first batch is needed.
    public func makeAsyncIterator() -> AsyncIterator {
        AsyncIterator(reader: makeReader(), value: value)
    }
}
