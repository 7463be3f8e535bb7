import TandemModel
import TandemStore
import TandemWire

/// Answers to history requests.
extension Answerer {
    /// Returns some or all of the matching transactions after a position, and the position up to
    /// which they are complete.
    func history(_ request: HistoryRequest) throws -> History {
        let bounds = committer.journal.bounds
        let end = request.to == 0 ? committer.position : min(request.to, committer.position)
        guard request.from >= bounds.first - 1 else {
            throw TandemError.expired(request.from + 1, oldest: bounds.first)
        }
        if !request.condition.properties.isEmpty {
            try model.check(
                slotsOf: request.condition.modelVersion, "the request", "send it again")
        }
        let filter = HistoryMatcher(request, modelPosition: committer.store.modelPosition)
        var answer = History(
            position: request.from, transactions: [], isComplete: true, first: bounds.first)
        let indexes = committer.journal.indexes()
        let source = TransactionSource(committer.journal, indexes)
        var skippable = SkippableHistory(filter, after: request.from, indexes)
        defer { committer.journal.renewIndexes(of: indexes.damaged) }
        let limit =
            request.limit == 0
            ? limits.historyTransactions
            : min(Int(request.limit), limits.historyTransactions)
        // Only a few of the evaluated transactions may match. One call therefore evaluates at most
        // `sliceReads` transactions, and no more bytes than fit into one answer. A range skipped by
        // an index counts as one transaction, plus the cost of the index.
        var (looked, steps) = (0, 0)
        var reads: Int { steps + indexes.work }
        while answer.position < end {
            guard answer.transactions.count < limit, reads < limits.sliceReads,
                looked < limits.historyBytes
            else {
                answer.isComplete = false
                // Only the daemon's own limits are counted, not the client's.
                if looked >= limits.historyBytes { committer.limitCounters.record(.historyBytes) }
                if reads >= limits.sliceReads { committer.limitCounters.record(.sliceReads) }
                if answer.transactions.count >= limits.historyTransactions {
                    committer.limitCounters.record(.historyTransactions)
                }
                break
            }
            steps += 1
            let next = answer.position + 1
            if let known = skippable.end(from: next, committer.historyIndex) {
                answer.position = min(known, end)
                continue
            }
            let transaction = try source.transaction(at: next, committer.ring)
            if skippable.isUnindexed { committer.recordHistory(transaction) }
            if let part = try filter.filtered(transaction) {
                answer.transactions.append(part)
            }
            looked += transaction.bytes.count
            answer.position += 1
        }
        return answer
    }
}
