public import TandemModel
import TandemWire

/// The journal's transactions after a position, in order, requested while they are iterated.
///
///     for try await transaction in try container.transactions(after: position, filter) { … }
///
/// The sequence ends at the journal's end, unless it follows. A following sequence continues with
/// new transactions, and throws `disconnected` when the container is closed. It throws
/// `historyExpired` if the journal no longer reaches back to the position. To recover, fetch a
/// snapshot with a context, and resume after the context's ``ManagedObjectContext/position``. Don't
/// resume after a position that was read separately, for example by ``PersistentContainer/end()``:
/// transactions saved between that read and the fetch would be delivered twice or never.
public struct HistorySequence: AsyncSequence, Sendable {
    /// A transaction as recorded in the journal, reduced to the requested entities.
    public typealias Element = Transaction

    let container: PersistentContainer
    let start: Position
    let filter: HistoryFilter
    let follows: Bool

    /// Creates an iterator that starts at the sequence's position.
    public func makeAsyncIterator() -> Iterator {
        Iterator(
            container: container, filter: filter, follows: follows, position: start)
    }

    /// The state of one iteration.
    public struct Iterator: AsyncIteratorProtocol {
        let container: PersistentContainer
        let filter: HistoryFilter
        let follows: Bool
        /// The position up to which transactions were read; some of them may not have been returned
        /// yet.
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

        /// Returns the next transaction, or nil at the end.
        public mutating func next() async throws -> Transaction? {
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

        /// Waits until there are new transactions; returns false if the task was cancelled.
        private func wait() async throws -> Bool {
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

        /// Throws `historyExpired` if the store was replaced or restored.
        ///
        /// The new log may never reach the position's number, or may have other transactions there.
        private func checkLog() throws(TandemError) {
            guard let now = container.connection.knownSession?.position(0),
                !position.isComparable(with: now)
            else { return }
            throw TandemError.foreign(position)
        }
    }
}
