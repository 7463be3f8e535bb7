import TandemModel
import TandemWire

/// Reads of a pinned context, all at its position.
extension ManagedObjectContext {
    /// Reads at the position of the pin, and passes the answer to `use` there.
    func pinnedReadStep<Answer, Output>(
        _ pin: Pin, _ part: PiggybackedRead, _ read: @escaping (PiggybackedAnswer) -> Answer?,
        use: @escaping (Answer) throws -> Output, attempt: Int = 1
    ) throws -> Step<Output> {
        try checkAttempt(attempt)
        let start = merged
        func isHere() -> Bool { self.merged == start && self.familyState.pin === pin }
        func again() throws -> Step<Output> {
            guard let pin = self.familyState.pin else {
                return try self.positionedStep(part, read, use: use)
            }
            return try self.pinnedReadStep(pin, part, read, use: use, attempt: attempt + 1)
        }
        return try askStep(pin, part, at: start).then { answer in
            guard isHere() else { return try again() }
            // The position is reached only after all lists are fetched, including those of a move
            // in progress.
            return try self.mergeStep(through: start).then { _ in
                guard isHere() else { return try again() }
                return .done(try use(try Self.read(answer, read)))
            }
        }
    }

    private func askStep(
        _ pin: Pin, _ part: PiggybackedRead, at position: UInt64
    ) throws -> Step<PiggybackedAnswer> {
        try pin.takeStep(at: position).then { _ -> Step<PiggybackedAnswer> in
            .ask(part.message(at: position, pin.lease), { PiggybackedAnswer($0) }) { answer in
                guard let now = self.connection.knownSession, self.isHere(now) else {
                    throw TandemError(.historyExpired, "the store was replaced or restored")
                }
                return .done(answer)
            }
        }.recover { error in throw error.atPin }
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
    /// The error as thrown for a read at a pin, with a remedy.
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
