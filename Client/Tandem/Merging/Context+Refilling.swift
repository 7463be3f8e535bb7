import TandemModel
import TandemWire

extension ManagedObjectContext {
    /// Fetches the rows that the first participant lacks, and merges up to the answer; returns nil
    /// if none lacks rows.
    func refillStep(
        _ group: MergedGroup, _ all: [any MergeParticipant],
        _ verdicts: [ObjectIdentifier: [Verdict]]
    ) throws -> Step<Void>? {
        for participant in all {
            let own = verdicts[ObjectIdentifier(participant)]
            guard let fetch = participant.refill(for: group, own) else { continue }
            return refillStep(participant, fetch, group.to, attempt: 1)
        }
        return nil
    }

    /// Fetches the rows that a participant lacks, and merges up to the answer and at least to
    /// `target`.
    ///
    /// In a blocking call, a list is built from its chunks as they arrive.
    private func refillStep(
        _ participant: any MergeParticipant, _ fetch: Fetch, _ target: UInt64, attempt: Int
    ) -> Step<Void> {
        let generation = session?.generation
        let parts = fetch.kind == .list ? ChunkReader() : nil
        return tracedAsk(.fetch(fetch), into: parts) { result in
            guard self.session?.generation == generation, self.familyState.pin == nil else {
                parts?.discard()
                return try self.mergeStep(through: target)
            }
            switch try self.fetchedList(result, of: fetch, parts) {
            case .success(let fetched):
                participant.receive(.success(fetched), for: fetch)
                return try self.mergeStep(through: max(target, fetched.answer.position))
            case .failure(let error):
                if parts?.isLost ?? false, attempt < self.core.limits.requestAttempts {
                    return self.refillStep(participant, fetch, target, attempt: attempt + 1)
                }
                if error.isPassing { throw error }
                participant.receive(.failure(error), for: fetch)
                participant.deliver()
                return try self.mergeStep(through: target)
            }
        }
    }

    /// Assembles the answer to a fetch; throws for an answer of another kind.
    private func fetchedList(
        _ result: Result<DaemonMessage, TandemError>, of fetch: Fetch, _ parts: ChunkReader?
    ) throws -> Result<ListAnswer, TandemError> {
        switch result {
        case .success(.fetched(let head)):
            Result { () throws(TandemError) in
                try ListAnswer(head, of: fetch, parts, from: connection)
            }
        case .success(let other): throw Step<Void>.unexpected(other)
        case .failure(let error): .failure(error)
        }
    }

    /// Whether the context merges received transactions automatically.
    var isFollowing: Bool { mergesAutomatically && !isPaused && familyState.pin == nil }

    /// Schedules a refill of windows that edits emptied.
    ///
    /// They are filled with the next merge, or at the context's position if it does not merge
    /// automatically.
    func fillSoon() {
        if isFollowing { return link.signal() }
        wantsFill = true
        scheduleTelling()
    }

    /// Refills windows that edits emptied, at the context's position; after a failure they wait for
    /// the next request.
    nonisolated(nonsending) func fillWindows() async {
        guard wantsFill else { return }
        wantsFill = false
        try? await fillStep(attempt: 1).runAsync(on: connection)
    }

    private func fillStep(attempt: Int) throws -> Step<Void> {
        try checkAttempt(attempt)
        guard let session, let now = connection.knownSession, isHere(now),
            let short = participants.lazy.compactMap(\.value).first(where: \.needsRefill)
        else { return .done(()) }
        let group = MergedGroup(from: merged, to: merged, transactions: [], model: session.model)
        guard var fetch = short.refill(for: group, nil) else { return .done(()) }
        let (start, pin) = (merged, familyState.pin)
        (fetch.at, fetch.lease) = (start, pin?.lease ?? 0)
        let asked = fetch
        return try (try pin?.takeStep(at: start) ?? .done(())).then { _ -> Step<Void> in
            self.tracedAsk(.fetch(asked)) { result in
                guard case .fetched(let answer) = try result.get(), self.merged == start,
                    self.familyState.pin === pin, let now = self.connection.knownSession,
                    self.isHere(now)
                else { return .done(()) }
                short.receive(.success(ListAnswer(answer, of: asked)), for: asked)
                self.apply(group, verdicts: [:])
                return try self.fillStep(attempt: attempt + 1)
            }
        }
    }

    /// Restarts the context, and fetches its lists again.
    func restartStep(in now: ServerState, at position: UInt64? = nil) throws -> Step<Void> {
        restart(in: now, at: position ?? now.position)
        return try mergeStep(through: merged)
    }
}

extension TandemError {
    /// Whether the same request may succeed later without any change.
    var isPassing: Bool {
        switch code {
        case .disconnected, .timeout, .cancelled, .historyExpired, .readOnly, .unknownOutcome: true
        default: false
        }
    }
}
