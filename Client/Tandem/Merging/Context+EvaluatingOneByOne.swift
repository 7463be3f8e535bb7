import TandemModel
import TandemWire

/// Evaluation of lists one by one, after the daemon refused a joint verdict request.
extension ManagedObjectContext {
    /// Requests the verdicts of each list separately, at the end of the group, and merges the
    /// group.
    ///
    /// A list whose request is refused again is fetched at that position; if the fetch is refused
    /// too, the list fails. The other lists continue in either case.
    func evaluateOneByOne(
        _ group: MergedGroup, _ move: Repositioning, _ calls: DaemonCalls
    ) async throws {
        var verdicts: [ObjectIdentifier: [Verdict]] = [:]
        var related: [StoredObject] = []
        for asker in lists {
            guard let item = asker.verdictItem else { continue }
            let request = VerdictRequest(from: move.start, items: [item], at: group.to)
            let result = try await tracedAnswer(to: .verdicts(request), calls)
            guard isUnderWay(move), move.pin != nil || isOnStream else {
                return try await resume(move, calls)
            }
            switch result {
            case .success(.verdicts(let answer)):
                guard let own = answer.items.first, answer.position == group.to else {
                    throw TandemError.unexpectedAnswer("verdicts")
                }
                try check(own.map(\.object))
                try checkRows(answer.related)
                verdicts[ObjectIdentifier(asker)] = own
                related += answer.related
            case .success: throw TandemError.unexpectedAnswer("a request")
            case .failure(let error):
                if error.isTransient, error.code != .historyExpired { throw error }
                asker.resetAfterGap()
            }
        }
        try await fetchAndApply(group, verdicts, related, move, calls)
    }

    /// Whether the context's session is the connection's current one.
    private var isOnStream: Bool { connection.knownSession?.generation == session?.generation }
}
