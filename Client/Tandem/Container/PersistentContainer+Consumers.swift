package import TandemModel
import TandemWire

/// Named consumers of the journal, for the admin command.
extension PersistentContainer {
    /// Has the journal above a position kept for a name, nil for the end; blocks until that is durable.
    ///
    /// Returns what the consumer has acknowledged; one that was registered keeps its place unless it is expired.
    package func registerConsumer(_ name: String, at position: Position?) throws -> Position {
        try acknowledged(by: ConsumerRequest(name: name, action: .register(at: position)))
    }

    /// Lets the journal up to a position be given up for a consumer; blocks.
    ///
    /// Returns what it has acknowledged.
    package func acknowledge(_ position: Position, asConsumer name: String) throws -> Position {
        try acknowledged(by: ConsumerRequest(name: name, action: .acknowledge(position)))
    }

    /// Puts a consumer at a position, nil for the end, also back; blocks until that is durable.
    ///
    /// Returns what it has acknowledged now.
    package func resetConsumer(_ name: String, to position: Position?) throws -> Position {
        try acknowledged(by: ConsumerRequest(name: name, action: .reset(to: position)))
    }

    /// Removes a consumer; blocks until that is durable.
    ///
    /// False when there is none.
    package func removeConsumer(_ name: String) throws -> Bool {
        try answer(to: ConsumerRequest(name: name, action: .remove)).acknowledged != nil
    }

    private func acknowledged(by request: ConsumerRequest) throws -> Position {
        try acknowledged(connection.answer(.consumer(request)))
    }

    /// What an answer says that a consumer has acknowledged.
    func acknowledged(_ answer: Result<DaemonMessage, TandemError>) throws -> Position {
        guard case .consumer(let answer) = try answer.get(), let number = answer.acknowledged,
            let session = connection.knownSession
        else { throw PersistentContainer.noConsumerAnswer }
        return session.position(number)
    }

    static var noConsumerAnswer: TandemError {
        TandemError(.storage, "the daemon did not answer about the consumer")
    }

    private func answer(to request: ConsumerRequest) throws -> ConsumerAnswer {
        guard case .consumer(let answer) = try connection.answer(.consumer(request)).get() else {
            throw PersistentContainer.noConsumerAnswer
        }
        return answer
    }
}
