import TandemModel
import TandemWire

extension ManagedObjectContext {
    /// Fetches the rows that the first list lacks, and merges up to the answer; returns false if no
    /// list lacks rows.
    func refill(
        for group: MergedGroup, _ verdicts: [ObjectIdentifier: [Verdict]], _ calls: DaemonCalls
    ) async throws -> Bool {
        guard let (list, fetch) = firstRefill(for: group, verdicts) else { return false }
        try await refill(list, fetch, group.to, calls)
        return true
    }

    /// Returns the first list that lacks rows, and the fetch of these rows.
    func firstRefill(
        for group: MergedGroup, _ verdicts: [ObjectIdentifier: [Verdict]]
    ) -> (list: any ListParticipant, fetch: Fetch)? {
        for list in lists {
            let own = verdicts[ObjectIdentifier(list)]
            if let fetch = list.refill(for: group, own) { return (list, fetch) }
        }
        return nil
    }

    /// Fetches the rows that a list lacks, and merges up to the answer and at least to `target`.
    ///
    /// In a blocking call, a list is built from its chunks as they arrive.
    private func refill(
        _ list: any ListParticipant, _ fetch: Fetch, _ target: UInt64, _ calls: DaemonCalls
    ) async throws {
        let generation = session?.generation
        for attempt in 1... {
            let parts = fetch.kind == .list ? ChunkReader() : nil
            let result = try await tracedAnswer(to: .fetch(fetch), into: parts, calls)
            guard session?.generation == generation, familyState.pin == nil else {
                parts?.discard()
                return try await merge(through: target, calls)
            }
            switch try listAnswer(result, of: fetch, parts) {
            case .success(let fetched):
                list.receive(.success(fetched), for: fetch)
                return try await merge(through: max(target, fetched.answer.position), calls)
            case .failure(let error):
                if parts?.isLost ?? false, attempt < core.limits.requestAttempts { continue }
                if error.isTransient { throw error }
                list.receive(.failure(error), for: fetch)
                list.deliver()
                return try await merge(through: target, calls)
            }
        }
    }

    /// Assembles the answer to a fetch; throws for an answer of another kind.
    private func listAnswer(
        _ result: Result<DaemonMessage, TandemError>, of fetch: Fetch, _ parts: ChunkReader?
    ) throws -> Result<ListAnswer, TandemError> {
        switch result {
        case .success(.fetched(let head)):
            Result { () throws(TandemError) in
                try ListAnswer(head, of: fetch, parts, from: connection)
            }
        case .success: throw TandemError.unexpectedAnswer("a request")
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
        scheduleReport()
    }

    /// Refills windows that edits emptied, at the context's position; after a failure they wait for
    /// the next request.
    func fillWindows() async {
        guard wantsFill else { return }
        wantsFill = false
        try? await fill(suspendingCalls)
    }

    private func fill(_ calls: DaemonCalls) async throws {
        for attempt in 1... {
            try checkAttempt(attempt)
            guard let session, let now = connection.knownSession, isHere(now),
                let short = lists.first(where: \.needsRefill)
            else { return }
            let group = MergedGroup(
                from: merged, to: merged, transactions: [], model: session.model)
            guard var fetch = short.refill(for: group, nil) else { return }
            let (start, pin) = (merged, familyState.pin)
            (fetch.at, fetch.lease) = (start, pin?.lease ?? 0)
            try await pin?.acquire(at: start, calls)
            let result = try await tracedAnswer(to: .fetch(fetch), calls)
            guard case .fetched(let answer) = try result.get(), merged == start,
                familyState.pin === pin, let now = connection.knownSession, isHere(now)
            else { return }
            short.receive(.success(ListAnswer(answer, of: fetch)), for: fetch)
            apply(group, verdicts: [:])
        }
    }

    /// Restarts the context, and fetches its lists again; does nothing before the first connection.
    func restartAndMerge(_ calls: DaemonCalls) async throws {
        if let now = connection.knownSession { try await restartAndMerge(in: now, calls) }
    }

    /// Restarts the context in a session, and fetches its lists again.
    func restartAndMerge(
        in now: ServerState, at position: UInt64? = nil, _ calls: DaemonCalls
    ) async throws {
        restart(in: now, at: position ?? now.position)
        try await merge(through: merged, calls)
    }
}

extension TandemError {
    /// Whether the same request may succeed later without any change.
    var isTransient: Bool {
        switch code {
        case .disconnected, .timeout, .cancelled, .historyExpired, .readOnly, .unknownOutcome: true
        default: false
        }
    }
}
