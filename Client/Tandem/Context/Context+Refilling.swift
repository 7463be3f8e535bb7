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

    /// Whether the context merges what comes in, unprompted.
    var isFollowing: Bool { mergesAutomatically && !isPaused && standing.pin == nil }

    /// Lets windows that edits emptied fill up, soon: with the next merge, or where the context rests.
    func fillSoon() {
        if isFollowing { return link.signal() }
        wantsFill = true
        scheduleTelling()
    }

    /// Fills up windows that edits emptied, at the context's position; what fails is left until something is asked.
    nonisolated(nonsending) func fillWindows() async {
        guard wantsFill else { return }
        wantsFill = false
        try? await fillStep(attempt: 1).runAsync(on: connection)
    }

    private func fillStep(attempt: Int) throws -> Step<Void> {
        try checkAttempt(attempt)
        guard let session, let now = connection.knownSession, isHere(now),
            let short = participants.lazy.compactMap(\.value).first(where: \.isShort)
        else { return .done(()) }
        let group = MergedGroup(from: merged, to: merged, transactions: [], model: session.model)
        guard var fetch = short.refill(for: group, nil) else { return .done(()) }
        let (start, pin) = (merged, standing.pin)
        (fetch.at, fetch.lease) = (start, pin?.lease ?? 0)
        let asked = fetch
        return try (try pin?.takeStep(at: start) ?? .done(())).then { _ -> Step<Void> in
            self.toldAsk(.fetch(asked)) { result in
                guard case .fetched(let answer) = try result.get(), self.merged == start,
                    self.standing.pin === pin, let now = self.connection.knownSession,
                    self.isHere(now)
                else { return .done(()) }
                short.take(.success(answer), of: asked)
                self.apply(group, verdicts: [:])
                return try self.fillStep(attempt: attempt + 1)
            }
        }
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
        case .disconnected, .timeout, .cancelled, .historyExpired, .readOnly, .unknownOutcome: true
        default: false
        }
    }
}
