import TandemModel
import TandemWire

/// Evaluation of lists one by one, after the daemon refused a joint verdict request.
extension ManagedObjectContext {
    /// Requests the verdicts of each list separately, at the end of the group, and merges the
    /// group.
    ///
    /// A list whose request is refused again is fetched at that position; if the fetch is refused
    /// too, the list fails. The other lists continue in either case.
    func judgeAloneStep(_ group: MergedGroup, _ move: Repositioning) throws -> Step<Void> {
        let askers = participants.compactMap(\.value).filter { $0.verdictItem != nil }
        return try judgeAloneStep(group, askers[...], [:], [], move)
    }

    private func judgeAloneStep(
        _ group: MergedGroup, _ askers: ArraySlice<any MergeParticipant>,
        _ verdicts: [ObjectIdentifier: [Verdict]], _ related: [StoredObject], _ move: Repositioning
    ) throws -> Step<Void> {
        guard let asker = askers.first, let item = asker.verdictItem else {
            return try settleStep(group, verdicts, related, move)
        }
        let request = VerdictRequest(from: move.start, items: [item], at: group.to)
        return tracedAsk(.verdicts(request)) { result in
            guard self.isUnderWay(move), move.pin != nil || self.isOnStream else {
                return try self.againStep(move)
            }
            var (verdicts, related) = (verdicts, related)
            switch result {
            case .success(.verdicts(let answer)):
                guard let own = answer.items.first, answer.position == group.to else {
                    throw TandemError.unexpectedAnswer("verdicts")
                }
                try self.check(own.map(\.object))
                try self.checkRows(answer.related)
                verdicts[ObjectIdentifier(asker)] = own
                related += answer.related
            case .success(let other): throw Step<Void>.unexpected(other)
            case .failure(let error):
                if error.isPassing, error.code != .historyExpired { throw error }
                asker.resetAfterGap()
            }
            return try self.judgeAloneStep(group, askers.dropFirst(), verdicts, related, move)
        }
    }

    /// Whether the context's session is the connection's current one.
    private var isOnStream: Bool { connection.knownSession?.generation == session?.generation }
}
