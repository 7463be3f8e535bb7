import TandemModel
import TandemWire

/// Reads of a pinned context, all at its position.
extension ManagedObjectContext {
    /// Reads at the position of the pin, and returns the answer there.
    func readPinned<Answer>(
        _ pin: Pin, _ part: PiggybackedRead, _ calls: DaemonCalls,
        _ extract: (PiggybackedAnswer) -> Answer?
    ) async throws -> Answer {
        var (pin, attempt) = (pin, 1)
        while true {
            try checkAttempt(attempt)
            let start = merged
            let answer = try await answer(to: part, at: start, pin, calls)
            if merged == start, familyState.pin === pin {
                // The position is reached only after all lists are fetched, including those of a
                // move in progress.
                try await merge(through: start, calls)
                if merged == start, familyState.pin === pin {
                    return try Self.read(answer, extract)
                }
            }
            guard let now = familyState.pin else {
                return try await read(part, calls, as: extract)
            }
            (pin, attempt) = (now, attempt + 1)
        }
    }

    private func answer(
        to part: PiggybackedRead, at position: UInt64, _ pin: Pin, _ calls: DaemonCalls
    ) async throws -> PiggybackedAnswer {
        do {
            try await pin.acquire(at: position, calls)
            let answer = try await calls.answer(to: part.message(at: position, pin.lease)) {
                PiggybackedAnswer($0)
            }
            guard let now = connection.knownSession, isHere(now) else {
                throw TandemError(.historyExpired, "the store was replaced or restored")
            }
            return answer
        } catch let error as TandemError {
            throw error.atPin
        }
    }
}

extension PiggybackedRead {
    /// Returns the request for this read alone, at an earlier position.
    fileprivate func message(at position: UInt64, _ lease: UInt32) -> ClientMessage {
        switch self {
        case .fetch(var fetch):
            (fetch.at, fetch.lease) = (position, lease)
            return .fetch(fetch)
        case .read(var read):
            (read.at, read.lease) = (position, lease)
            return .read(read)
        }
    }
}

extension TandemError {
    /// This error as thrown by a read at a pin, with a remedy.
    var atPin: TandemError {
        switch code {
        case .historyExpired, .schemaMismatch:
            TandemError(
                .historyExpired,
                "\(message); pin the context at a newer position, or unpin it")
        default: self
        }
    }
}
