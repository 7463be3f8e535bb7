import TandemModel
import TandemWire

extension ManagedObjectContext {
    /// Fetches what the first participant lacks and merges up to that; nil when nobody lacks anything.
    func refillStep(
        _ group: MergedGroup, _ all: [any ResultsParticipant],
        _ verdicts: [ObjectIdentifier: [Verdict]]
    ) throws -> Step<Void>? {
        for participant in all {
            let own = verdicts[ObjectIdentifier(participant)]
            guard let fetch = participant.refill(for: group, own) else { continue }
            let generation = session?.generation
            return toldAsk(.fetch(fetch)) { result in
                guard self.session?.generation == generation, self.standing.pin == nil else {
                    return try self.mergeStep(through: group.to)
                }
                switch result {
                case .success(.fetched(let answer)):
                    participant.take(.success(answer), of: fetch)
                    return try self.mergeStep(through: max(group.to, answer.position))
                case .success(let other): throw Step<Void>.unexpected(other)
                case .failure(let error):
                    if error.isPassing { throw error }
                    participant.take(.failure(error), of: fetch)
                    participant.deliver()
                    return try self.mergeStep(through: group.to)
                }
            }
        }
        return nil
    }

    /// Starts anew, and fetches the lists that were held.
    func restartStep(in now: Session, at position: UInt64? = nil) throws -> Step<Void> {
        restart(in: now, at: position ?? now.position)
        return try mergeStep(through: merged)
    }
}

extension TandemError {
    /// Whether asking again may succeed although nothing was changed.
    var isPassing: Bool {
        switch code {
        case .disconnected, .timeout, .historyExpired, .readOnly, .unknownOutcome: true
        default: false
        }
    }
}
