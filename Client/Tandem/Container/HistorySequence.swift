public import TandemModel
import TandemWire

/// The transactions of the journal behind a position, in order, as they are asked for.
///
///     for try await transaction in try container.transactions(after: position, filter) { … }
///
/// Ends at the journal's end, unless it follows: then it goes on with what is saved, and ends with `disconnected` when the container is
/// closed. Throws `historyExpired` when the journal no longer reaches back. The way on is a snapshot: fetch with a context, and go on
/// behind its ``ManagedObjectContext/position``. One that was taken by itself, as by ``PersistentContainer/end()``, is no place to go
/// on: what others save between that and the fetch would come twice or never.
public struct HistorySequence: AsyncSequence, Sendable {
    /// A transaction as the journal has it, of the entities that were asked for.
    public typealias Element = Transaction

    let container: PersistentContainer
    let start: Position
    let filter: HistoryFilter
    let follows: Bool

    /// Reads from the beginning.
    public func makeAsyncIterator() -> Iterator {
        Iterator(
            container: container, filter: filter, follows: follows, position: start)
    }

    /// Where reading stands.
    public struct Iterator: AsyncIteratorProtocol {
        let container: PersistentContainer
        let filter: HistoryFilter
        let follows: Bool
        /// Everything up to here was read, or is in what is yet to be given.
        public private(set) var position: Position
        private var isComplete = false
        private var page: [Transaction] = []
        private var given = 0

        init(
            container: PersistentContainer, filter: HistoryFilter, follows: Bool, position: Position
        ) {
            (self.container, self.filter, self.follows) = (container, filter, follows)
            self.position = position
        }

        /// The next transaction; nil at the end.
        public nonisolated(nonsending) mutating func next() async throws -> Transaction? {
            while given == page.count {
                if isComplete {
                    guard follows, try await wait() else { return nil }
                }
                let next = try await container.history(after: position, filter)
                page = try next.transactions.map { try $0.decoded() }
                (given, position, isComplete) = (0, next.position, next.isComplete)
            }
            defer { given += 1 }
            return page[given]
        }

        /// Waits for a while until there is more; false when the task was cancelled.
        private nonisolated(nonsending) func wait() async throws -> Bool {
            while !Task.isCancelled {
                let sync = Sync(number: position.number + 1, timeoutMilliseconds: 1_000)
                let answer = await container.connection.answerAsync(.sync(sync))
                try checkLog()
                switch answer {
                case .success: return true
                case .failure(let error) where error.code == .timeout: continue
                case .failure(let error): throw error
                }
            }
            return false
        }

        /// Throws `historyExpired` where the store was replaced or restored: its log may never come to the position's number, and what it
        /// has there is something else.
        private func checkLog() throws(TandemError) {
            guard let now = container.connection.knownSession?.position(0),
                !position.isComparable(with: now)
            else { return }
            throw TandemError(
                .historyExpired,
                "\(position) is of another log or epoch than this store's, which was replaced or restored; start again "
                    + "from a snapshot")
        }
    }
}
