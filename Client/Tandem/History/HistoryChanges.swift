/// The journal's changes after a position, in order; they are read during the iteration.
///
///     for try await change in container.changes(of: Item.self, after: position) {
///         print(change.position, change.id, change.after?[\.title] ?? "deleted")
///     }
///
/// The sequence ends at the journal's end, unless it follows: a following sequence continues with
/// every later save. A sequence also ends, without an error, as soon as its task is cancelled.
///
/// Iterating throws:
/// - `historyExpired` if the journal no longer contains the position or the model of a change, or
///   if the store was replaced or restored. To recover, fetch a snapshot with a context, and
///   continue after the context's ``ManagedObjectContext/position``. Don't continue after a
///   position that was read separately, for example by ``PersistentContainer/end()``: changes saved
///   between that read and the fetch would be delivered twice or never.
/// - `unknownEntity` and `unknownProperty` if the newest model lacks a name that the filter uses.
/// - `disconnected` if the container is closed, or if no daemon can be reached at the start. A
///   following sequence waits for a daemon that is restarted.
/// - `limitExceeded` if waiting for new changes would use more than half of the connection's
///   requests.
///
/// Cost: one request for each 1,000 transactions, and one request for each wait at the journal's
/// end.
public struct HistoryChanges<Object: ManagedObject>: AsyncSequence, Sendable {
    let reader: HistoryReader

    /// Creates an iterator that begins after the sequence's position.
    public func makeAsyncIterator()
        -> some AsyncIteratorProtocol<HistoryChange<Object>, any Error> & Sendable
    {
        Iterator(reader)
    }

    /// The state of one iteration.
    struct Iterator: AsyncIteratorProtocol, Sendable {
        private var reader: HistoryReader
        private var page: ArraySlice<DecodedChange> = []

        init(_ reader: HistoryReader) { self.reader = reader }

        /// Returns the next change; nil at the end, or if the task was cancelled.
        mutating func next() async throws -> HistoryChange<Object>? {
            if page.isEmpty { page = ArraySlice(try await reader.next() ?? []) }
            return page.popFirst().map { HistoryChange($0) }
        }
    }
}
