import TandemModel
import TandemWire

/// Reads the journal page by page after a position, and waits for new transactions.
///
/// Every request carries the position, so that a reader never continues in a different log: the
/// connection fails the request with `historyExpired` if the daemon's log or epoch differs.
///
/// State: the position up to which pages were read, the last save with a match, and the models that
/// decode the pages.
struct HistoryReader: Sendable {
    private let core: ContainerCore
    private let filter: HistoryFilter
    private let follows: Bool
    /// The position up to which the journal was read.
    private(set) var position: Position
    /// Whether the last page reached the journal's end.
    private var isAtEnd = false
    private var decoder: ChangeDecoder?
    /// The consumer on whose behalf the journal is read; nil for an unnamed reader.
    private let consumer: ConsumerProgress?
    /// The number of the last save with a matching change; 0 before the first such save.
    private var lastMatch: UInt64 = 0

    init(
        _ core: ContainerCore, _ filter: HistoryFilter, after position: Position, follows: Bool,
        as consumer: ConsumerProgress? = nil
    ) {
        (self.core, self.filter, self.follows) = (core, filter, follows)
        (self.position, self.consumer) = (position, consumer)
    }

    private var connection: Connection { core.connection }

    /// Returns the matching changes of the next page that contains any.
    ///
    /// Returns nil if the task is cancelled, and at the journal's end if the reader does not
    /// follow.
    mutating func next() async throws(TandemError) -> [DecodedChange]? {
        while true {
            if isAtEnd {
                guard follows, try await waitForMore() else { return nil }
            }
            guard let page = try await page() else { return nil }
            var found: [DecodedChange] = []
            for encoded in page.transactions {
                let place = position.at(encoded.position)
                let transaction = try decode(encoded, place)
                guard try await readModels(for: transaction, first: page.first) else { return nil }
                guard let changes = try decoder?.changes(of: transaction, at: place) else {
                    continue
                }
                found += changes.filter(filter.matches).markingLast()
            }
            (position, isAtEnd) = (position.at(page.position), page.isComplete)
            if let last = found.last {
                lastMatch = last.save.position.number
                return found
            }
            try await acknowledgeSkipped()
        }
    }

    /// Acknowledges saves without a match, if all matching saves before them are acknowledged.
    ///
    /// Without this, a consumer whose filter rarely matches would expire.
    private func acknowledgeSkipped() async throws(TandemError) {
        guard let consumer else { return }
        let known = consumer.acknowledged.number
        guard known >= lastMatch, position.number >= known + Self.skippedTransactions else {
            return
        }
        do throws(TandemError) {
            try await consumer.acknowledge(position)
        } catch {
            guard shouldRetry(after: error) else { throw error }
        }
    }

    private mutating func decode(
        _ encoded: EncodedTransaction, _ place: Position
    ) throws(TandemError) -> Transaction {
        do throws(CodingError) {
            let transaction = try encoded.decoded()
            try decoder?.record(transaction)
            return transaction
        } catch {
            throw TandemError(.storage, "transaction \(place) cannot be read: \(error)")
        }
    }

    // MARK: Requests

    /// Returns the transactions after the position, or nil if the task was cancelled.
    private mutating func page() async throws(TandemError) -> History? {
        while let model = try await model() {
            var pages = HistoryPages(
                try filter.request(
                    after: position.number, through: 0, limit: Self.pageTransactions, model))
            do throws(TandemError) {
                return try await next(&pages)
            } catch {
                // The filter may have been translated under a model that has since been replaced.
                guard error.code == .schemaMismatch,
                    connection.knownSession?.model.version != model.version
                else { throw error }
            }
        }
        return nil
    }

    /// Returns the next of `pages`, or nil if the task was cancelled.
    private func next(_ pages: inout HistoryPages) async throws(TandemError) -> History? {
        while true {
            let request = ClientMessage.history(pages.request)
            let answer = await connection.answerUnlessCancelled(request, at: position)
            do throws(TandemError) {
                return try pages.accept(answer)
            } catch {
                if error.code == .cancelled { return nil }
                guard shouldRetry(after: error) else { throw error }
            }
        }
    }

    /// Returns the store's model as last known, or nil if the task was cancelled.
    private mutating func model() async throws(TandemError) -> CompiledModel? {
        var known = connection.knownSession?.model
        if known == nil {
            switch await connection.requestSession(true).valueUnlessCancelled() {
            case .success(let session): known = session.model
            case .failure(let error) where error.code == .cancelled: break
            case .failure(let error): throw error
            }
        }
        guard let known else { return nil }
        if known.version > decoder?.timeline.newest?.version ?? 0 {
            decoder = ChangeDecoder(latest: known)
        }
        return known
    }

    /// Reads the models of the journal if a transaction needs an earlier model; returns false if
    /// the task was cancelled.
    private mutating func readModels(
        for transaction: Transaction, first: UInt64
    ) async throws(TandemError) -> Bool {
        guard decoder?.timeline.lacks(transaction) == true else { return true }
        var pages = HistoryPages.models(after: max(first, 1) - 1)
        while !pages.isComplete {
            guard let page = try await next(&pages) else { return false }
            for encoded in page.transactions {
                _ = try decode(encoded, position.at(encoded.position))
            }
        }
        decoder?.complete()
        return true
    }

    /// Waits for a transaction after the position; returns false if the task was cancelled.
    private func waitForMore() async throws(TandemError) -> Bool {
        guard position.number < .max else {
            throw TandemError.afterEnd(
                position.number, last: connection.knownSession?.position ?? 0)
        }
        try connection.state.withLock { state throws(TandemError) in
            try state.daemon.beginWaiting()
        }
        defer { connection.state.withLock { $0.daemon.endWaiting() } }
        // The wait ends with an answer, a reconnection to a different log, or a cancellation. The
        // timeout is required, but never reached.
        let sync = Sync(number: position.number + 1, timeoutMilliseconds: .max)
        switch await connection.answerUnlessCancelled(.sync(sync), at: position) {
        case .success: return true
        case .failure(let error) where error.code == .cancelled: return false
        case .failure(let error):
            guard shouldRetry(after: error) else { throw error }
            return true
        }
    }

    /// Returns whether to retry after an error: a following reader retries if the daemon may be
    /// restarting.
    private func shouldRetry(after error: TandemError) -> Bool {
        follows && (error.code == .disconnected || error.code == .timeout)
            && connection.ending == nil
    }

    private static let pageTransactions: UInt32 = 1_000
    /// The number of transactions without a match after which they are acknowledged.
    ///
    /// A transaction has at most 16 MiB, so this many transactions stay below the journal's default
    /// cap.
    static let skippedTransactions: UInt64 = 128
}
