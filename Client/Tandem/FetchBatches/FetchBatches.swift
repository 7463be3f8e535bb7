import TandemModel

/// What a request picks, batch by batch, as it is at one position, whatever is saved meanwhile.
///
///     for try await teams in try context.batches(of: Team.self, sort: ["-wins"]) {
///         for team in teams { try write(team) }
///     }
///
/// A loop has a context of its own on the actor of the one that it was asked of, pinned where that is pinned, or else at the end of the journal
/// when it begins. Its objects are of that context, so each batch and what its objects lead to fit together. They are for
/// reading: to change one, take its like in your own context (`existingObject(with: object.id)`).
///
/// **Memory.** The next batch is asked for when it is wanted, so who is slow holds up nobody. The loop holds
/// `limits.listedReferences` ids at most, and the rows of one batch beside the objects that you keep; the daemon holds nothing between two
/// batches but the pin.
///
/// **End.** The pin is let go when the loop ends, however it does: at the end, by `break`, by an error, or by the task's
/// cancellation, which is thrown as `CancellationError` and ends what the daemon works on, too. Objects that are kept then belong to an unpinned
/// context, which begins anew where something is read that isn't loaded.
///
/// Each iterator is a loop of its own. Bound to the context's actor.
public struct FetchBatches<Value>: AsyncSequence {
    /// A batch: as many as was asked for, in the last one fewer, never none.
    public typealias Element = [Value]

    let makeReader: () -> BatchReader
    let value: (BatchReader, ObjectReference) -> Value?

    /// Goes through the batches of one loop.
    public struct AsyncIterator: AsyncIteratorProtocol {
        let reader: BatchReader
        let value: (BatchReader, ObjectReference) -> Value?

        /// The next batch; nil when there are no more.
        public mutating func next() async throws -> [Value]? { try await next(isolation: nil) }

        /// The next batch; nil when there are no more.
        ///
        /// Throws `CancellationError` in a task that is cancelled; `historyExpired` when the daemon can't tell any more what there was at
        /// the loop's position (a batch took longer than `limits.pinSeconds`, or the journal was trimmed); `limitExceeded` for too many
        /// pins of a connection at the first batch; what fetches throw. Behind an error there are no more batches.
        public mutating func next(
            isolation actor: isolated (any Actor)?
        ) async throws(any Error) -> [Value]? {
            guard let batch = try await reader.next(isolation: actor) else { return nil }
            return batch.compactMap { value(reader, $0) }
        }
    }

    /// Begins a loop; nothing is asked before the first batch is wanted.
    public func makeAsyncIterator() -> AsyncIterator {
        AsyncIterator(reader: makeReader(), value: value)
    }
}
